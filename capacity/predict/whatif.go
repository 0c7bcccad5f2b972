package predict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// keys are the short names of paths in a question. A path is accepted too.
var keys = map[string]string{
	"cores": "lab.hosts.cores", "memory": "lab.hosts.memory", "cache": "lab.engine.cache", "disk": "lab.storage.device",
	"members": "lab.topology.members", "shards": "lab.topology.shards", "workers": "load.workers", "threads": "load.workers",
	"clients": "load.clients", "records": "workload.records", "workload": "workload.name", "w": "durability.w",
	"durability": "durability.name",
}

// Asked is one key of a question.
type Asked struct{ Key, Path, Value string }

// parseWhatIf reads a question: 'cores=16,memory=64GiB,disk=nvme,members=5,w=majority'.
func parseWhatIf(text string) ([]Asked, error) {
	var list []Asked
	known := slices.Sorted(maps.Keys(keys))
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		path := keys[key]
		if strings.Contains(key, ".") {
			path = key
		}
		switch {
		case !ok || value == "":
			return nil, fmt.Errorf("what-if: %q has no key or no value. Write it like cores=16", part)
		case path == "":
			return nil, fmt.Errorf("what-if: unknown key %q%s (known: %s, or a path of a study)", key, nearest.DidYouMean(key, known), strings.Join(known, ", "))
		case slices.ContainsFunc(list, func(a Asked) bool { return a.Path == path }):
			return nil, fmt.Errorf("what-if: %s is given twice", key)
		case path == "lab.storage.device" && !slices.Contains(spec.DeviceClasses(), value):
			classes := spec.DeviceClasses()
			return nil, fmt.Errorf("what-if: there is no device class %q%s (classes: %s)", value,
				nearest.DidYouMean(value, classes), strings.Join(classes, ", "))
		}
		list = append(list, Asked{key, path, value})
	}
	return list, nil
}

// Study is a study with its directory.
type Study struct {
	Dir string
	*record.Study
}

// WhatIf predicts the throughput of a deployment that differs from the baseline of the first study. Each key is
// answered by a study that varied it: by its measurement, or else by the model that describes it best. The changes are
// multiplied, and the squares of their intervals are added. A change beyond the measured levels has an upper limit
// only, and then the answer has one only.
func WhatIf(studies []Study, text string, tool record.Tool) (*record.WhatIf, error) {
	asked, err := parseWhatIf(text)
	if err != nil {
		return nil, err
	}
	out := &record.WhatIf{SchemaVersion: record.SchemaVersion, Kind: record.KindWhatIf, Tool: tool, Asked: text,
		Changes: []record.WhatIfChange{}, Validity: []measure.Finding{}}
	first := studies[0]
	base, err := first.level(first.baseline(), nil)
	if err != nil {
		return nil, err
	}
	if len(base.Throughput) == 0 {
		return nil, fmt.Errorf("%s: its baseline has no valid trial. Run the study, or resume it", first.Dir)
	}
	x, below, above, beyond := stats.Middle(base.Throughput), 0.0, 0.0, false // below and above: squares of logarithms
	for _, a := range asked {
		now := first.value(first.baseline(), a.Path)
		if sameValue(now, a.Value) {
			out.Same = append(out.Same, a.Key+"="+a.Value)
			continue
		}
		c := change(studies, a, now)
		out.Changes = append(out.Changes, c)
		switch {
		case c.High == nil:
			out.Refused = append(out.Refused, c.Key+": "+c.Why)
		case c.Beyond:
			x *= *c.High
			beyond = true
			out.Validity = append(out.Validity, beyondMeasured(c))
		default:
			x *= *c.Ratio
			below += math.Pow(math.Log(*c.Low / *c.Ratio), 2)
			above += math.Pow(math.Log(*c.High / *c.Ratio), 2)
		}
	}
	if len(out.Refused) == 0 {
		if len(out.Changes) == 0 {
			below, above = half(base.Throughput), half(base.Throughput)
		}
		low, high := x*math.Exp(-math.Sqrt(below)), x*math.Exp(math.Sqrt(above))
		if out.High = &high; !beyond {
			out.Throughput, out.Low = &x, &low
		}
	}
	if len(out.Changes) > 1 {
		out.Validity = append(out.Validity, measure.Finding{ID: "factors-independent", Severity: measure.Warning, Text: "the changes were measured one at a time " +
			"and are multiplied. If one removes the limit that another one is about, this is wrong. Measure both together in a study with combine: grid"})
	}
	out.Nearest = nearestOf(first, asked)
	return out, nil
}

func beyondMeasured(c record.WhatIfChange) measure.Finding {
	return measure.Finding{ID: "beyond-measured", Severity: measure.Warning, Text: fmt.Sprintf("%s=%s is beyond the measured "+
		"levels, so there is only an upper limit. Something else may become the limit there. Measure it before you buy", c.Key, c.To)}
}

// half is the square of half of the interval of the mean of trials, of logarithms.
func half(xs []float64) float64 {
	g, iv, ok := stats.GeoMean(xs, confidence)
	if !ok {
		return 0
	}
	return math.Pow(math.Log(iv.High/g), 2)
}

// Baseline is the throughput of the baseline in operations per second, 0 without a valid trial.
func (s *Study) Baseline() float64 {
	l, err := s.level(s.baseline(), nil)
	if err != nil || len(l.Throughput) == 0 {
		return 0
	}
	return stats.Middle(l.Throughput)
}

func (s *Study) baseline() *record.Configuration {
	for i := range s.Configurations {
		if s.Configurations[i].ID == s.BaselineID() {
			return &s.Configurations[i]
		}
	}
	return &record.Configuration{}
}

// level is a configuration with changed keys as a level.
func (s *Study) level(c *record.Configuration, set map[string]any) (Level, error) {
	changed := *c
	changed.Set = map[string]any{}
	maps.Copy(changed.Set, c.Set)
	maps.Copy(changed.Set, set)
	return levelOf(s.Study, &changed, &spec.Factor{})
}

// value is the text of the value of a path in a configuration.
func (s *Study) value(c *record.Configuration, path string) string {
	of, _ := capacity.Configure(s.Study, c.Set)
	return of.Value(path)
}

func sameValue(a, b string) bool {
	x, y := sizeOf(a), sizeOf(b)
	return strings.EqualFold(a, b) || x > 0 && x == y
}

// change answers one key by the first study that varied it.
func change(studies []Study, a Asked, now string) record.WhatIfChange {
	c := record.WhatIfChange{Key: a.Key, From: now, To: a.Value, Why: "no study varied it. Measure it: a factor with path: " + a.Path}
	for _, s := range studies {
		for i := range s.Specification.Factors {
			f := &s.Specification.Factors[i]
			if f.Path != a.Path {
				continue
			}
			c.Study = s.Dir
			if !sameValue(s.value(s.baseline(), a.Path), now) {
				c.Why = fmt.Sprintf("the baseline of %s has %s", s.Dir, s.value(s.baseline(), a.Path))
				continue
			}
			if s.answer(&c, f, a); c.High != nil {
				return c
			}
		}
	}
	return c
}

// answer sets the ratio of a change by a factor.
func (s *Study) answer(c *record.WhatIfChange, f *spec.Factor, a Asked) {
	factors, err := Factors(s.Dir, s.Study)
	if err != nil {
		c.Why = err.Error()
		return
	}
	i := slices.IndexFunc(factors, func(x Factor) bool { return x.Name == f.Title() })
	if i < 0 {
		c.Why = "its levels have no valid trial"
		return
	}
	levels := factors[i].Levels
	base, err := s.level(s.baseline(), nil)
	if err != nil {
		c.Why = err.Error()
		return
	}
	set := func(ratio float64, iv stats.Interval) {
		c.Ratio, c.Low, c.High = &ratio, &iv.Low, &iv.High
	}
	for j := range levels {
		if sameValue(levels[j].Name, a.Value) {
			r, known := stats.UnpairedRatio(base.Throughput, levels[j].Throughput, confidence)
			c.Basis, c.Why = "measured", fmt.Sprintf("n = %d", len(levels[j].Throughput))
			if !known {
				c.Why = "measured once, so there is no interval"
				r.Ratio = stats.Middle(levels[j].Throughput) / stats.Middle(base.Throughput)
				r.Low, r.High = r.Ratio, r.Ratio
			}
			set(r.Ratio, r.Interval)
			return
		}
	}
	choice, err := Choose(levels)
	if err != nil {
		c.Why = err.Error()
		return
	}
	l, err := s.level(s.baseline(), map[string]any{a.Path: a.Value})
	if err != nil {
		c.Why = err.Error()
		return
	}
	l.Name, l.Size = a.Value, sizeOf(a.Value)
	p, err := choice.Predict(&l, 0)
	if err != nil {
		c.Basis, c.Why = choice.Name, err.Error()
		return
	}
	m := stats.Middle(base.Throughput)
	c.Basis, c.Beyond, c.Why = choice.Name, p.Beyond, choice.why()
	set(p.Throughput/m, stats.Interval{Low: p.Low / m, High: p.High / m})
	if p.Beyond {
		c.Ratio, c.Low = nil, nil
	}
}

// nearestOf is the measured configuration with the most keys as asked, and among these the one with the nearest sizes.
func nearestOf(s Study, asked []Asked) record.WhatIfPoint {
	best, least := record.WhatIfPoint{}, math.Inf(1)
	for i := range s.Configurations {
		c := &s.Configurations[i]
		l, err := s.level(c, nil)
		if err != nil || len(l.Throughput) == 0 {
			continue
		}
		distance := 0.0
		for _, a := range asked {
			v := s.value(c, a.Path)
			if x, y := sizeOf(v), sizeOf(a.Value); x > 0 && y > 0 {
				distance += math.Abs(math.Log(x / y))
			} else if !sameValue(v, a.Value) {
				distance++
			}
		}
		if distance < least-1e-9 {
			best = record.WhatIfPoint{Study: s.Dir, Configuration: c.ID, N: len(l.Throughput),
				Throughput: stats.Middle(l.Throughput)}
			least = distance
		}
	}
	return best
}
