package observe

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// diagnosticReader turns what a server says of its host (systemMetrics of getDiagnosticData) into the values that
// [NewHost] has of this machine. The server itself reads them once a second; nothing is computed for who asks.
type diagnosticReader struct {
	rates rates
	last  time.Time // when the server read what was read last
}

// systemMetrics finds the metrics of the host; 8.0 and later may keep them below what is common to all roles.
func systemMetrics(reply bson.Raw) (bson.Raw, bool) {
	for _, path := range [][]string{{"data", "systemMetrics"}, {"data", "common", "systemMetrics"}} {
		if v, err := reply.LookupErr(path...); err == nil {
			if d, ok := v.DocumentOK(); ok {
				return d, true
			}
		}
	}
	return nil, false
}

// read returns the values; nil if the server has read nothing since the last look.
func (r *diagnosticReader) read(reply bson.Raw, now time.Time) map[string]float64 {
	d, ok := systemMetrics(reply)
	if !ok {
		return nil
	}
	when := now
	if ms, ok := d.Lookup("start").DateTimeOK(); ok {
		when = time.UnixMilli(ms)
	}
	if !when.After(r.last) {
		return nil
	}
	r.last = when
	values := map[string]float64{}
	r.rates.begin()
	r.cpu(d, values)
	r.memory(d, values)
	r.disks(d, values, when)
	for name, path := range map[string]string{"network.received": "netstat/IpExt:InOctets", "network.sent": "netstat/IpExt:OutOctets"} {
		if x, ok := at(path).number(d); ok {
			r.rates.perSecond(values, name, x, when)
		}
	}
	r.pressure(d, values, when)
	r.rates.end(when)
	return values
}

func (r *diagnosticReader) cpu(d bson.Raw, values map[string]float64) {
	grown, all, known := map[string]float64{}, 0.0, true
	for name, fields := range map[string][]string{"user": {"user_ms", "nice_ms"}, "system": {"system_ms", "irq_ms", "softirq_ms"},
		"iowait": {"iowait_ms"}, "steal": {"steal_ms"}, "idle": {"idle_ms"}} {
		total := 0.0
		for _, f := range fields {
			x, ok := at("cpu/" + f).number(d)
			known = known && ok
			total += x
		}
		g, ok := r.rates.add("cpu."+name, total)
		if !ok && name == "iowait" { // the kernel may count it down
			g, ok = 0, len(r.rates.last) > 0
		}
		grown[name], known = g, known && ok
		all += g
	}
	if !known || all <= 0 {
		return
	}
	for _, name := range []string{"user", "system", "iowait", "steal"} {
		values["cpu."+name] = grown[name] / all
	}
	values["cpu.busy"] = (grown["user"] + grown["system"]) / all
	if cores, ok := at("cpu/num_cpus").number(d); ok {
		values["cpu.used"] = values["cpu.busy"] * cores
	}
}

// memory takes what is free or cached for available where the server does not say what is: it keeps MemAvailable from
// neither 4.4 nor 5.0.
func (r *diagnosticReader) memory(d bson.Raw, values map[string]float64) {
	total, ok := at("memory/MemTotal_kb").number(d)
	if !ok {
		return
	}
	available, ok := at("memory/MemAvailable_kb").number(d)
	if !ok {
		for _, name := range []string{"MemFree_kb", "Cached_kb", "Buffers_kb"} {
			x, _ := at("memory/" + name).number(d)
			available += x
		}
	}
	values["memory.available"], values["memory.used"] = available*1024, (total-available)*1024
}

func (r *diagnosticReader) disks(d bson.Raw, values map[string]float64, when time.Time) {
	disks, ok := d.Lookup("disks").DocumentOK()
	if !ok {
		return
	}
	elements, err := disks.Elements()
	if err != nil {
		return
	}
	for _, e := range elements {
		name, disk := e.Key(), bson.Raw(nil)
		if disk, ok = e.Value().DocumentOK(); !ok || strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") {
			continue
		}
		prefix, got := "disk."+name+".", map[string]float64{}
		for _, f := range []string{"reads", "writes", "read_sectors", "write_sectors", "read_time_ms", "write_time_ms", "io_time_ms"} {
			got[f], _ = at(f).number(disk)
		}
		if got["reads"]+got["writes"] == 0 {
			continue
		}
		r.rates.perSecond(values, prefix+"reads", got["reads"], when)
		r.rates.perSecond(values, prefix+"writes", got["writes"], when)
		r.rates.perSecond(values, prefix+"read_bytes", got["read_sectors"]*512, when) // the unit of /proc/diskstats
		r.rates.perSecond(values, prefix+"write_bytes", got["write_sectors"]*512, when)
		busy, known := r.rates.add(prefix+"busy", got["io_time_ms"]/1e3)
		if seconds := r.rates.seconds(when); known && seconds > 0 {
			values[prefix+"utilisation"] = min(1, busy/seconds)
		}
		waited, ok1 := r.rates.add(prefix+"ticks", got["read_time_ms"]+got["write_time_ms"])
		done, ok2 := r.rates.add(prefix+"done", got["reads"]+got["writes"])
		if ok1 && ok2 && done > 0 {
			values[prefix+"await"] = waited / done * 1e6
		}
	}
}

// pressure is told since 7.1, on kernels that have it.
func (r *diagnosticReader) pressure(d bson.Raw, values map[string]float64, when time.Time) {
	for _, resource := range []string{"cpu", "io", "memory"} {
		for _, kind := range []string{"some", "full"} {
			total, ok := at("pressure/" + resource + "/" + kind + "/totalMicros").number(d)
			if !ok || kind == "full" && resource == "cpu" {
				continue
			}
			name := "pressure." + resource + "." + kind
			waited, known := r.rates.add(name, total/1e6)
			if seconds := r.rates.seconds(when); known && seconds > 0 {
				values[name] = min(1, waited/seconds)
			}
		}
	}
}
