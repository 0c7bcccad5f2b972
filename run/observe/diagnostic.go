package observe

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

// diagnosticReader turns a server's data of its host (systemMetrics of getDiagnosticData) into the values of
// [NewHost]. The server collects them once a second in any case.
type diagnosticReader struct {
	rates rates
	last  time.Time // when the server collected the last data
}

// read returns the values of the data of a host (systemMetrics), nil if they are not newer than last time.
func (r *diagnosticReader) read(d bson.Raw, now time.Time) map[string]float64 {
	when := now
	if ms, ok := d.Lookup("start").DateTimeOK(); ok {
		when = time.UnixMilli(ms)
	}
	if len(d) == 0 || !when.After(r.last) {
		return nil
	}
	r.last = when
	values := map[string]float64{}
	r.rates.begin(when)
	r.cpu(d, values)
	memory(d, values)
	r.disks(d, values)
	for name, path := range map[string]string{"network.received": "netstat/IpExt:InOctets", "network.sent": "netstat/IpExt:OutOctets"} {
		if x, ok := server.At(path).Number(d); ok {
			r.rates.perSecond(values, name, x)
		}
	}
	for _, of := range []string{"cpu/some", "io/some", "io/full", "memory/some", "memory/full"} { // since 7.1
		if total, ok := server.At("pressure/" + of + "/totalMicros").Number(d); ok {
			r.rates.share(values, "pressure."+strings.Replace(of, "/", ".", 1), total/1e6)
		}
	}
	r.rates.end()
	return values
}

func (r *diagnosticReader) cpu(d bson.Raw, values map[string]float64) {
	times := map[string]float64{}
	for name, fields := range map[string][]string{"user": {"user_ms", "nice_ms"}, "system": {"system_ms", "irq_ms", "softirq_ms"},
		"iowait": {"iowait_ms"}, "steal": {"steal_ms"}, "idle": {"idle_ms"}} {
		for _, f := range fields {
			x, ok := server.At("cpu/" + f).Number(d)
			if !ok {
				return
			}
			times[name] += x
		}
	}
	cores, _ := server.At("cpu/num_cpus").Number(d)
	r.rates.cpu(values, times, int(cores))
}

// memory counts free and cached memory as available if the server does not report MemAvailable, like 4.4 and 5.0.
func memory(d bson.Raw, values map[string]float64) {
	total, ok := server.At("memory/MemTotal_kb").Number(d)
	if !ok {
		return
	}
	available, ok := server.At("memory/MemAvailable_kb").Number(d)
	if !ok {
		for _, name := range []string{"MemFree_kb", "Cached_kb", "Buffers_kb"} {
			x, _ := server.At("memory/" + name).Number(d)
			available += x
		}
	}
	values["memory.available"], values["memory.used"] = available*1024, (total-available)*1024
}

func (r *diagnosticReader) disks(d bson.Raw, values map[string]float64) {
	disks, _ := d.Lookup("disks").DocumentOK()
	elements, _ := disks.Elements()
	for _, e := range elements {
		fields, ok := e.Value().DocumentOK()
		if !ok {
			continue
		}
		get := func(name string) float64 { x, _ := server.At(name).Number(fields); return x }
		r.rates.disk(values, e.Key(), disk{
			reads: get("reads"), writes: get("writes"), readSectors: get("read_sectors"), writeSectors: get("write_sectors"),
			reading: get("read_time_ms"), writing: get("write_time_ms"), busy: get("io_time_ms"),
		})
	}
}
