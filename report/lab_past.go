package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// LabMoment is the usage of the hosts of a lab at a moment.
type LabMoment struct {
	At    time.Time
	Usage []record.LabUsage
}

// fewestMoments is the smallest number of samples for a line.
const fewestMoments = 3

// labPast draws what the hosts of a lab used while its page was open, with the charts of the labs of runs.
func labPast(v LabView) Section {
	sec := Section{ID: "lab-past", Title: "Hosts over time"}
	if len(v.Past) < fewestMoments {
		return sec
	}
	first, last := v.Past[0].At, v.Past[len(v.Past)-1].At
	sec.Lead = fmt.Sprintf("Resources that each host used, from %s to %s UTC: recorded while this page is open, at most the last minutes. A gap is a host that was off.",
		first.UTC().Format("15:04:05"), last.UTC().Format("15:04:05"))
	past := &runFiles{Run: &record.Run{Lab: &v.Lab}, Samples: samplesOf(v)}
	for _, f := range labFigures(past, nil) {
		sec.Parts = append(sec.Parts, Section{Figures: []*Figure{f}})
	}
	return sec
}

// samplesOf are the usages of the hosts at the moments of a lab, by the names of samples.
func samplesOf(v LabView) *Samples {
	s := &Samples{since: v.Past[0].At.UTC().Format("15:04:05") + " UTC", bin: "moment"}
	for _, m := range v.Past {
		s.At = append(s.At, m.At.Sub(v.Past[0].At).Seconds())
	}
	for _, name := range hostsOf(v) {
		for _, c := range []struct {
			name, unit string
			of         func(record.LabUsage) float64
			grows      bool // it is a counter, so its rate is drawn
		}{
			{"cpu.used", "cores", func(u record.LabUsage) float64 { return u.CPUSeconds }, true},
			{"cpu.throttled", "cores", func(u record.LabUsage) float64 { return u.ThrottledSeconds }, true},
			{"memory.resident", "B", func(u record.LabUsage) float64 { return float64(u.Memory) }, false},
			{"disk.write_bytes", "B/s", func(u record.LabUsage) float64 { return float64(u.WriteBytes) }, true},
			{"disk.read_bytes", "B/s", func(u record.LabUsage) float64 { return float64(u.ReadBytes) }, true},
			{"network.received", "B/s", func(u record.LabUsage) float64 { return float64(u.Received) }, true},
			{"network.sent", "B/s", func(u record.LabUsage) float64 { return float64(u.Sent) }, true},
		} {
			values := make([]float64, len(v.Past))
			series := record.Series{Source: "host:" + v.Lab.Name + "/" + name, Name: c.name, Unit: c.unit}
			n := 0.0
			for i := range v.Past {
				values[i] = usageAt(v.Past, i, name, c.of, c.grows)
				if !math.IsNaN(values[i]) {
					series.Mean, series.Max = series.Mean+values[i], max(series.Max, values[i])
					n++
				}
			}
			series.Mean /= max(n, 1)
			s.add(series, values)
		}
	}
	return s
}

// usageAt returns a usage of a host at a moment, NaN if unknown: counters have no rate at their first moment, and after
// the host was powered on again.
func usageAt(past []LabMoment, i int, host string, of func(record.LabUsage) float64, grows bool) float64 {
	here, ok := usageOf(past[i], host)
	switch {
	case !ok:
		return math.NaN()
	case !grows:
		return of(here)
	case i == 0:
		return math.NaN()
	}
	before, ok := usageOf(past[i-1], host)
	seconds := past[i].At.Sub(past[i-1].At).Seconds()
	if !ok || seconds <= 0 || of(here) < of(before) {
		return math.NaN()
	}
	return (of(here) - of(before)) / seconds
}

func usageOf(m LabMoment, host string) (record.LabUsage, bool) {
	i := slices.IndexFunc(m.Usage, func(u record.LabUsage) bool { return u.Host == host })
	if i < 0 {
		return record.LabUsage{}, false
	}
	return m.Usage[i], true
}

func hostsOf(v LabView) []string {
	var names []string
	for _, m := range v.Past {
		for _, u := range m.Usage {
			names = append(names, u.Host)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
