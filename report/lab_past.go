package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// LabMoment is the usage of the hosts of a lab at a moment.
type LabMoment struct {
	At    time.Time
	Usage []record.LabUsage
}

// fewestMoments is the smallest number of samples for a line.
const fewestMoments = 3

// usageChart is one figure of all hosts while the page was open.
type usageChart struct {
	id, title, label, unit string
	// now is a value as it is, total one that grows; one of them is set.
	now, total func(record.LabUsage) float64
}

var usageCharts = []usageChart{
	{id: "cpu", title: "CPU used", label: "processor cores", total: func(u record.LabUsage) float64 { return u.CPUSeconds }},
	{id: "throttled", title: "CPU waited for at the limit", label: "processor cores", total: func(u record.LabUsage) float64 { return u.ThrottledSeconds }},
	{id: "memory", title: "Memory used", label: "bytes", unit: chart.Bytes, now: func(u record.LabUsage) float64 { return float64(u.Memory) }},
	{id: "written", title: "Written to disks", label: "bytes per second", unit: chart.BytesPerSec,
		total: func(u record.LabUsage) float64 { return float64(u.WriteBytes) }},
	{id: "read", title: "Read from disks", label: "bytes per second", unit: chart.BytesPerSec,
		total: func(u record.LabUsage) float64 { return float64(u.ReadBytes) }},
	{id: "received", title: "Received over the network", label: "bytes per second", unit: chart.BytesPerSec,
		total: func(u record.LabUsage) float64 { return float64(u.Received) }},
	{id: "sent", title: "Sent over the network", label: "bytes per second", unit: chart.BytesPerSec,
		total: func(u record.LabUsage) float64 { return float64(u.Sent) }},
}

// labPast draws what the hosts of a lab used while its page was open.
func labPast(v LabView) Section {
	sec := Section{ID: "lab-past", Title: "Hosts over time"}
	if len(v.Past) < fewestMoments {
		return sec
	}
	first, last := v.Past[0].At, v.Past[len(v.Past)-1].At
	sec.Lead = fmt.Sprintf("Resources that each host used, from %s to %s UTC: recorded while this page is open, at most the last minutes. A gap is a host that was off.",
		first.UTC().Format("15:04:05"), last.UTC().Format("15:04:05"))
	for _, c := range usageCharts {
		if f := c.figure(v); f != nil {
			sec.Parts = append(sec.Parts, Section{Figures: []*Figure{f}})
		}
	}
	return sec
}

// figure draws one value of all hosts, nil if none of them ever had any.
func (c usageChart) figure(v LabView) *Figure {
	xy := &chart.XY{Frame: chart.Frame{ID: "lab-past-" + c.id, Title: c.title + " (" + c.label + ")"}, Height: 170, Aligned: true,
		X: chart.Axis{Label: fmt.Sprintf("time since %s UTC; n = %d", v.Past[0].At.UTC().Format("15:04:05"), len(v.Past)), Unit: chart.Seconds},
		Y: chart.Axis{Label: strings.ToLower(c.title[:1]) + c.title[1:] + ", " + c.label, Unit: c.unit, Zero: true}}
	numbers := &Table{Left: -1, Header: []string{"at"}}
	most := 0.0
	var words []string
	for _, host := range hostsOf(v) {
		line := chart.Series{Name: host, Colour: len(xy.Series)}
		if len(xy.Series)%2 == 1 {
			line.Style = chart.Dashed
		}
		high := 0.0
		for i := range v.Past {
			y := c.value(v.Past, i, host)
			line.X, line.Y = append(line.X, v.Past[i].At.Sub(v.Past[0].At).Seconds()), append(line.Y, y)
			if y > high { // not what is missing
				high = y
			}
		}
		most = max(most, high)
		words = append(words, fmt.Sprintf("%s at most %s", host, usageText(high, c.unit)))
		xy.Series = append(xy.Series, line)
		numbers.Header = append(numbers.Header, host)
	}
	if most == 0 {
		return nil
	}
	xy.Description = c.title + ": " + strings.Join(words, "; ") + "."
	for i := range v.Past {
		row := []string{v.Past[i].At.UTC().Format("15:04:05")}
		for _, s := range xy.Series {
			row = append(row, usageText(s.Y[i], c.unit))
		}
		numbers.Rows = append(numbers.Rows, row)
	}
	return newFigure(xy, "", numbers)
}

func usageText(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case unit == chart.Bytes:
		return figure.Bytes(int64(v))
	case unit == chart.BytesPerSec:
		return figure.Bytes(int64(v)) + "/s"
	}
	return figure.Significant(v)
}

// value returns the usage of a host at a moment, NaN if unknown: counters have none at their first moment, and after
// the host was powered on again.
func (c usageChart) value(past []LabMoment, i int, host string) float64 {
	here, ok := usageOf(past[i], host)
	if !ok {
		return math.NaN()
	}
	if c.now != nil {
		return c.now(here)
	}
	if i == 0 {
		return math.NaN()
	}
	before, ok := usageOf(past[i-1], host)
	seconds := past[i].At.Sub(past[i-1].At).Seconds()
	if !ok || seconds <= 0 || c.total(here) < c.total(before) {
		return math.NaN()
	}
	return (c.total(here) - c.total(before)) / seconds
}

func usageOf(m LabMoment, host string) (record.LabUsage, bool) {
	for _, u := range m.Usage {
		if u.Host == host {
			return u, true
		}
	}
	return record.LabUsage{}, false
}

func hostsOf(v LabView) []string {
	var names []string
	for _, m := range v.Past {
		for _, u := range m.Usage {
			if !slices.Contains(names, u.Host) {
				names = append(names, u.Host)
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxHosts)]
}
