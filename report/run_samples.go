package report

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Samples are the series of machines and servers during the load, in bins of equal length.
type Samples struct {
	// At is the middle of each bin in seconds since the start of the run.
	At []float64
	// Sources are in the order of the record.
	Sources []SampleSource

	since, bin string // what At counts from, and the word for one of them
}

// SampleSource is one machine, server or process.
type SampleSource struct {
	Name   string
	Series []SampleSeries
}

// SampleSeries is one figure of a source. The value of a bin is the mean of its samples: they are gauges and
// rates, never percentiles.
type SampleSeries struct {
	record.Series
	Values []float64
}

// sampleBins is the largest number of bins.
const sampleBins = 1000

func readSamples(dir string, r *record.Run) (*Samples, error) {
	length := int64(0)
	for _, p := range r.Phases {
		length = max(length, p.End)
	}
	width := max(int64(time.Second), (length/sampleBins+int64(time.Second)-1)/int64(time.Second)*int64(time.Second))
	n := int(length/width) + 1
	type cell struct {
		sum float64
		n   int
	}
	cells := map[[2]string][]cell{}
	_, err := record.EachSample(dir, func(s record.Sample) error {
		i := max(0, s.At-1) / width // a rate is that of the time before the sample
		if s.At < 0 || i >= int64(n) {
			return nil
		}
		for name, v := range s.Values {
			key := [2]string{s.Source, name}
			if cells[key] == nil {
				if len(cells) >= maxKeys*4 {
					continue
				}
				cells[key] = make([]cell, n)
			}
			cells[key][i].sum += v
			cells[key][i].n++
		}
		return nil
	})
	out := &Samples{since: "the start of the run", bin: "bin"}
	for i := range n {
		out.At = append(out.At, (float64(i)+0.5)*float64(width)/1e9)
	}
	for _, series := range r.Series {
		values := make([]float64, n)
		for i := range values {
			values[i] = math.NaN()
			if c := cells[[2]string{series.Source, series.Name}]; c != nil && c[i].n > 0 {
				values[i] = c[i].sum / float64(c[i].n)
			}
		}
		out.add(series, values)
	}
	return out, errors.Join(err, out.addAgents(dir, r, width))
}

// The source with the CPU use of agents on other machines, and the largest number of agents in it.
const (
	sourceAgents = "clients"
	maxAgents    = 16
)

// addAgents adds the CPU use of the agents on other machines, from their own records: of those that used most. An agent
// that was lost has no record.
func (s *Samples) addAgents(dir string, r *record.Run, width int64) error {
	if !r.Remote() {
		return nil
	}
	agents := slices.Clone(r.Clients)
	slices.SortStableFunc(agents, func(a, b record.ClientShare) int { return cmp.Compare(b.CPUCores, a.CPUCores) })
	for _, c := range agents[:min(maxAgents, len(agents))] {
		if c.CPUCores == 0 {
			continue
		}
		own := filepath.Join(dir, record.ClientsDir, fmt.Sprintf("%02d", c.Number))
		its, err := record.OpenRun(own)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(its.Series, func(x record.Series) bool { return x.Source == "client" && x.Name == "cpu.used" })
		if i < 0 {
			continue
		}
		began := int64(its.Started.Sub(r.Started)) - c.ClockOffset
		sums, counts := make([]float64, len(s.At)), make([]float64, len(s.At))
		if _, err := record.EachSample(own, func(x record.Sample) error {
			v, ok := x.Values["cpu.used"]
			if at := (began + x.At - 1) / width; ok && x.Source == "client" && at >= 0 && at < int64(len(s.At)) {
				sums[at], counts[at] = sums[at]+v, counts[at]+1
			}
			return nil
		}); err != nil {
			return err
		}
		for k := range sums {
			sums[k] /= counts[k] // not a number without samples
		}
		series := its.Series[i]
		series.Source, series.Name = sourceAgents, fmt.Sprintf("cpu.client %d", c.Number)
		s.add(series, sums)
	}
	return nil
}

func (s *Samples) add(series record.Series, values []float64) {
	series.Source, series.Name = bounded(series.Source), bounded(series.Name)
	i := slices.IndexFunc(s.Sources, func(x SampleSource) bool { return x.Name == series.Source })
	if i < 0 {
		i = len(s.Sources)
		s.Sources = append(s.Sources, SampleSource{Name: series.Source})
	}
	s.Sources[i].Series = append(s.Sources[i].Series, SampleSeries{series, values})
}

// sampleGroup is series of one source that belong into one chart: the same subject and the same unit.
type sampleGroup struct {
	subject, unit string
	series        []*SampleSeries
	// lines is how many of them are drawn, maxLines if 0; marked says what happened at the events that are drawn.
	lines  int
	marked bool
}

// groups puts the series of a source together by the part of their names before the last point, and by unit.
func (s *SampleSource) groups() []sampleGroup {
	var list []sampleGroup
	if strings.HasPrefix(s.Name, "prometheus:") || strings.HasPrefix(s.Name, "csv:") { // names are those of other programs
		g := sampleGroup{subject: "values", lines: maxHosts}
		for i := range s.Series {
			g.series = append(g.series, &s.Series[i])
		}
		return []sampleGroup{g}
	}
	for i := range s.Series {
		x := &s.Series[i]
		subject := x.Name
		if at := strings.IndexByte(x.Name, '.'); at > 0 {
			subject = x.Name[:at]
		}
		if strings.Count(x.Name, ".") > 1 {
			subject = x.Name[:strings.LastIndexByte(x.Name, '.')]
		}
		at := slices.IndexFunc(list, func(g sampleGroup) bool { return g.subject == subject && g.unit == x.Unit })
		if at < 0 {
			at = len(list)
			list = append(list, sampleGroup{subject: subject, unit: x.Unit})
		}
		list[at].series = append(list[at].series, x)
	}
	for i := range list {
		if s.Name == sourceAgents {
			list[i].lines = maxHosts
		}
		slices.SortStableFunc(list[i].series, func(a, b *SampleSeries) int { return cmp.Compare(b.Mean, a.Mean) })
	}
	return list
}

func (g *sampleGroup) short(x *SampleSeries) string {
	return strings.TrimPrefix(strings.TrimPrefix(x.Name, g.subject), ".")
}

// id names the figure of the group. It is no position: in the next picture of a record that is being written, a group
// before it may have begun to move.
func (g *sampleGroup) id(source string) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %q", source, g.subject, g.unit)
	return fmt.Sprintf("samples-%08x", h.Sum32())
}

// moves says whether any value of the group is not zero.
func (g *sampleGroup) moves() bool {
	for _, x := range g.series {
		for _, v := range x.Values {
			if v != 0 && !math.IsNaN(v) {
				return true
			}
		}
	}
	return false
}
