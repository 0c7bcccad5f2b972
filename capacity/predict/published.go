package predict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// minPublished is the number of stated levels from which a sweep of a document is backtested.
const minPublished = 4

// Published returns the sweeps of a document that state the throughput of enough levels, and says of the others that
// vary a number why not. ref is that of [published.Select].
func Published(ref string) (factors []Factor, left []string, err error) {
	source, sweeps, err := published.Select(ref)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range sweeps {
		f := Factor{Source: source.Name + "/" + s.ID, Name: s.Factor}
		drawn := 0
		for i := range s.Levels {
			l := &s.Levels[i]
			v, ok := l.Values["throughput"]
			if !ok || v.Bound != "" {
				drawn++
				continue
			}
			f.Levels = append(f.Levels, Level{Name: l.Name, Size: sizeOf(l.Name), Throughput: []float64{v.Number},
				Facts: publishedFacts(source, s, l)})
		}
		f.sort()
		switch {
		case len(f.Levels) >= minPublished && strings.HasPrefix(s.Factor, "second "):
			// Lines of one output are repetitions, not levels.
		case len(f.Levels) >= minPublished:
			factors = append(factors, f)
		case drawn >= minPublished && slices.Contains(s.Metrics, "throughput"):
			left = append(left, fmt.Sprintf("%s by %s: the document states the throughput of %d of %d levels and only draws the others, so nothing is predicted",
				f.Source, s.Factor, len(f.Levels), len(s.Levels)))
		}
	}
	if f, ok := workloads(source, sweeps); ok {
		factors = append(factors, f)
	}
	return factors, left, nil
}

// publishedFacts are the facts of a level of the reference architecture, whose servers have cores, memory and a quarter
// of the records, and of threads.
func publishedFacts(source *published.Source, s *published.Sweep, l *published.Level) Facts {
	f := Facts{Workers: float64(max(l.Workers, s.Workers))}
	if n := sizeOf(l.Name); f.Workers == 0 && strings.Contains(s.Factor, "threads") {
		f.Workers = n
	}
	cores, memory := l.Sets["cores"], l.Sets["memory"]
	if cores == "" || memory == "" {
		return f
	}
	const servers, records = 4, 100e6
	gb, err := strconv.ParseFloat(strings.TrimSuffix(memory, "GB"), 64)
	if err != nil {
		return f
	}
	keys, err := capacity.KeysOf(spec.Workload{Name: "ycsb-" + s.Workload, Records: 1000})
	if err != nil {
		return f
	}
	keys = keys.Sized(records / servers)
	f.Keys, f.Cache = &keys, capacity.WiredTigerCache(gb*(1<<30))
	if mix := source.Mixes[s.Workload]; mix != nil {
		f.Reads, f.Writes = mix["read"], mix["update"]
	}
	return f
}

// workloads makes a factor of sweeps that state the throughput of the same two levels for several workloads: the
// throughput of a workload on the second level follows from that on the first one, and from the other workloads.
func workloads(source *published.Source, sweeps []*published.Sweep) (Factor, bool) {
	f := Factor{Source: source.Name, Name: "workload"}
	for _, s := range sweeps {
		if len(s.Levels) != 2 || s.Workload == "" {
			continue
		}
		from, ok := s.Levels[0].Values["throughput"]
		to, stated := s.Levels[1].Values["throughput"]
		if !ok || !stated {
			continue
		}
		name := fmt.Sprintf("%s on %s", s.Workload, s.Levels[1].Name)
		f.Levels = append(f.Levels, Level{Name: name, Throughput: []float64{to.Number}, Facts: Facts{Other: from.Number}})
	}
	return f, len(f.Levels) >= minPublished && source.Name == "ssd-vs-disk"
}
