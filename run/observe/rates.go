package observe

import (
	"strings"
	"time"
)

// rates turns growing counters into rates per second.
type rates struct {
	last, next map[string]float64
	at, now    time.Time
	seconds    float64 // since the last sample, 0 at the first one
}

// begin begins a sample.
func (r *rates) begin(now time.Time) {
	r.next, r.now, r.seconds = map[string]float64{}, now, 0
	if !r.at.IsZero() {
		r.seconds = now.Sub(r.at).Seconds()
	}
}

// add notes a counter and returns its growth since the last sample. ok is false at the first sample and after a reset
// of the counter.
func (r *rates) add(name string, total float64) (grown float64, ok bool) {
	r.next[name] = total
	before, known := r.last[name]
	if !known || total < before {
		return 0, false
	}
	return total - before, true
}

func (r *rates) end() { r.last, r.at = r.next, r.now }

// rate is [rates.add] per second.
func (r *rates) rate(name string, total float64) (x float64, ok bool) {
	grown, ok := r.add(name, total)
	return grown / r.seconds, ok && r.seconds > 0
}

// perSecond adds the rate of a counter to values, if it is known.
func (r *rates) perSecond(values map[string]float64, name string, total float64) {
	if x, ok := r.rate(name, total); ok {
		values[name] = x
	}
}

// share adds the share of a state in the time. total is how long the state has lasted.
func (r *rates) share(values map[string]float64, name string, total float64) {
	if x, ok := r.rate(name, total); ok {
		values[name] = min(1, x)
	}
}

// mean adds the mean time of the events since the last sample.
func (r *rates) mean(values map[string]float64, name string, total, events float64, unit time.Duration) {
	took, ok1 := r.add(name+".total", total)
	n, ok2 := r.add(name+".of", events)
	if ok1 && ok2 && n > 0 {
		values[name] = took / n * float64(unit)
	}
}

// cpu adds the shares of the time of all processors, and the number of busy ones if the number of cores is not 0. Time
// that the hypervisor gave to others (steal) is not busy time.
func (r *rates) cpu(values, times map[string]float64, cores int) {
	grown, all, known := map[string]float64{}, 0.0, true
	for name, total := range times {
		g, ok := r.add("cpu."+name, total)
		if !ok && name == "iowait" { // the kernel may count it down
			g, ok = 0, len(r.last) > 0
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
	if cores > 0 {
		values["cpu.used"] = values["cpu.busy"] * float64(cores)
	}
}

// disk is the counters of one disk in /proc/diskstats.
type disk struct{ reads, writes, readSectors, writeSectors, reading, writing, busy float64 }

// sector is the unit of /proc/diskstats for all devices.
const sector = 512

// disk adds the traffic of a disk that ever had any, with the values of iostat: r/s, w/s, rkB/s, wkB/s, %util,
// r_await and w_await. Loop devices that were never written to are images of packages.
func (r *rates) disk(values map[string]float64, name string, d disk) {
	if d.reads+d.writes == 0 || strings.HasPrefix(name, "loop") && d.writes == 0 || strings.HasPrefix(name, "ram") {
		return
	}
	name = "disk." + name + "."
	r.perSecond(values, name+"reads", d.reads)
	r.perSecond(values, name+"writes", d.writes)
	r.perSecond(values, name+"read_bytes", d.readSectors*sector)
	r.perSecond(values, name+"write_bytes", d.writeSectors*sector)
	r.share(values, name+"utilisation", d.busy/1e3)
	r.mean(values, name+"read_await", d.reading, d.reads, time.Millisecond)
	r.mean(values, name+"write_await", d.writing, d.writes, time.Millisecond)
}
