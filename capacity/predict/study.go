package predict

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Factor is a factor whose levels were measured, everything else being the same.
type Factor struct {
	Source string // the directory of the study, or the published figure
	Name   string
	Levels []Level
}

// Factors returns the factors of a study. Only configurations that differ from the baseline in one factor count.
func Factors(dir string, s *record.Study) ([]Factor, error) {
	if measure.Worst(s.Validity) == measure.Invalid {
		return nil, fmt.Errorf("%s: the study is invalid, so nothing is predicted from it", dir)
	}
	var out []Factor
	for i := range s.Specification.Factors {
		f := &s.Specification.Factors[i]
		factor := Factor{Source: dir, Name: f.Title()}
		for j := range s.Configurations {
			c := &s.Configurations[j]
			if c.Factor != f.Title() && c.ID != s.BaselineID() {
				continue
			}
			l, err := levelOf(s, c, f)
			if err != nil {
				return nil, fmt.Errorf("%s: configuration %s: %w", dir, c.ID, err)
			}
			if len(l.Throughput) > 0 {
				factor.Levels = append(factor.Levels, l)
			}
		}
		factor.sort()
		if len(factor.Levels) > 1 {
			out = append(out, factor)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no factor has two measured levels", dir)
	}
	return out, nil
}

// sort orders levels by size. Levels without a size stay in the order of the study.
func (f *Factor) sort() {
	slices.SortStableFunc(f.Levels, func(a, b Level) int {
		if a.Size == 0 || b.Size == 0 {
			return 0
		}
		return int(max(-1, min(1, (a.Size-b.Size)*1e9)))
	})
}

func levelOf(s *record.Study, c *record.Configuration, f *spec.Factor) (Level, error) {
	l := Level{Name: c.Levels[f.Title()], Size: sizeOf(c.Levels[f.Title()])}
	for i := range s.Trials {
		t := &s.Trials[i]
		if x := t.Values["throughput"]; t.Configuration == c.ID && t.Kind == record.TrialCompared &&
			t.Status == record.TrialDone && measure.Worst(t.Validity) != measure.Invalid && x > 0 {
			l.Throughput = append(l.Throughput, x)
		}
	}
	of, err := capacity.Configure(s, c.Set)
	if err != nil {
		return l, err
	}
	l.Facts = factsOf(of.Run, of.Lab)
	return l, nil
}

// sizeOf reads the number of a level: 4, 50k, 2GiB. It is 0 for a name.
func sizeOf(level string) float64 {
	if x, err := strconv.ParseFloat(level, 64); err == nil && x > 0 {
		return x
	}
	if x, err := spec.ParseCount(level); err == nil && x > 0 {
		return float64(x)
	}
	if x, err := spec.ParseSize(level); err == nil && x > 0 {
		return float64(x)
	}
	return 0
}

// factsOf returns what models know about a run on a lab.
func factsOf(run spec.Run, lab *spec.Lab) Facts {
	d := run.Durability.Effective()
	f := Facts{Workers: float64(run.Load.Workers), Durable: d.Journal != nil && *d.Journal}
	if reads, writes, err := capacity.Shares(run.Workload); err == nil {
		f.Reads, f.Writes = reads, writes
	}
	if keys, err := capacity.KeysOf(run.Workload); err == nil {
		f.Keys = &keys
	}
	if lab == nil {
		return f
	}
	f.Cores, f.Copies = lab.Hosts.Cores, float64(lab.Topology.Members)
	if f.Cache = float64(lab.Engine.Cache); f.Cache == 0 && lab.Hosts.Memory > 0 {
		f.Cache = capacity.WiredTigerCache(float64(lab.Hosts.Memory))
	}
	if class, err := faultfs.Class(lab.Storage.Device); err == nil {
		f.Sync = (class.WriteLatency + class.FlushLatency).Seconds()
	}
	return f
}
