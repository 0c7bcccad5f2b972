package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Line is a capacity with its directory.
type Line struct {
	Dir string
	*record.Capacity
}

// ByElasticity is the basis of a change that was predicted by the elasticity of a load line.
const ByElasticity = "elasticity"

// changedPaths are the paths of the capacities that `plimsoll capacity --confirm` reduces, by the label of the limit.
var changedPaths = map[limit.Label]string{limit.CPU: "lab.hosts.cores", limit.Cache: "lab.engine.cache",
	limit.DiskReads: "lab.engine.cache"}

// WhatIfLine predicts the load line with all members up of a deployment with another amount of what limits it, by the
// elasticity that was measured. A change by more than the measured 25 % has an upper limit only, because something else
// may become the limit: of more, proportional growth, and of less, what was measured. Other keys are refused.
func WhatIfLine(c Line, text string, tool record.Tool) (*record.WhatIf, error) {
	asked, err := parseWhatIf(text)
	if err != nil {
		return nil, err
	}
	if measure.Worst(c.Validity) == measure.Invalid {
		return nil, fmt.Errorf("%s: the capacity is invalid, so nothing is predicted from it", c.Dir)
	}
	l := c.Line(spec.AllMembersUp)
	if l == nil || !l.Has() {
		return nil, fmt.Errorf("%s: its load line has no rate. Search again with: plimsoll capacity", c.Dir)
	}
	deployment, err := c.deployment(l)
	if err != nil {
		return nil, err
	}
	out := &record.WhatIf{SchemaVersion: record.SchemaVersion, Kind: record.KindWhatIf, Tool: tool, Asked: text,
		Changes: []record.WhatIfChange{}, Validity: append([]measure.Finding{}, capacity.LineDoubts(c.Dir, l)...),
		Nearest: record.WhatIfPoint{Study: c.Dir, Configuration: "load line", N: l.Trials, Throughput: l.Rate}}
	c.answer(out, l, deployment, asked)
	return out, nil
}

// answer predicts the line of a deployment with changed keys.
func (c *Line) answer(out *record.WhatIf, l *record.LoadLine, deployment *capacity.Configured, asked []Asked) {
	ratio, low, high, beyond := 1.0, 1.0, 1.0, false
	for _, a := range asked {
		now := deployment.Value(a.Path)
		if sameValue(now, a.Value) {
			out.Same = append(out.Same, a.Key+"="+a.Value)
			continue
		}
		change := lineChange(l, a, now)
		change.Study = c.Dir
		out.Changes = append(out.Changes, change)
		switch {
		case change.High == nil:
			out.Refused = append(out.Refused, a.Key+": "+change.Why)
		case change.Beyond:
			high, beyond = *change.High, true
			out.Validity = append(out.Validity, beyondMeasured(change))
		default:
			ratio, low, high = *change.Ratio, *change.Low, *change.High
		}
	}
	if l.High == nil {
		out.Refused = append(out.Refused, "nothing is known above the load line, so there is no upper limit of it")
	}
	if len(out.Refused) > 0 {
		return
	}
	most := *l.High * high
	if out.High = &most; !beyond {
		x, least := l.Rate*ratio, l.Rate*low
		if l.Low != nil {
			least = *l.Low * low
		}
		out.Throughput, out.Low = &x, &least
	}
}

// deployment is that of the first step with a record.
func (c *Line) deployment(l *record.LoadLine) (*capacity.Configured, error) {
	i := slices.IndexFunc(l.Steps, func(s record.LineStep) bool { return s.Record != "" })
	if i < 0 {
		return nil, fmt.Errorf("%s: no step of its load line has a record", c.Dir)
	}
	r, err := record.OpenBelow(c.Dir, l.Steps[i].Record)
	if err != nil {
		return nil, err
	}
	d := &capacity.Configured{Run: r.Specification}
	if r.Lab != nil {
		d.Lab = &r.Lab.Specification
	}
	return d, nil
}

// lineChange answers one key by the elasticity of a line.
func lineChange(l *record.LoadLine, a Asked, now string) record.WhatIfChange {
	c := record.WhatIfChange{Key: a.Key, From: now, To: a.Value}
	by := l.LimitedBy
	if by == nil || by.Elasticity == nil || changedPaths[by.Throughput.Label] == "" {
		c.Why = "no change of what limits it was measured. Measure one with: plimsoll capacity --confirm"
		return c
	}
	if path := changedPaths[by.Throughput.Label]; path != a.Path {
		c.Why = fmt.Sprintf("the limit is %s, and only %s was changed. Measure it: a study with the factor %s",
			by.Throughput.Label, path, a.Path)
		return c
	}
	was, is := sizeOf(now), sizeOf(a.Value)
	if was <= 0 || is <= 0 {
		c.Why = fmt.Sprintf("the lab has no amount of it (%q), so the change has no size", now)
		return c
	}
	factor, e := is/was, min(1, max(0, *by.Elasticity))
	measured := math.Pow(limit.Reduced, e)
	c.Basis = ByElasticity
	c.Why = fmt.Sprintf("with 25 %% less, the throughput changed by %+.0f %%", (measured-1)*100)
	ratio, low, high := math.Pow(factor, e), min(1, factor), max(1, factor)
	switch {
	case factor > 1/limit.Reduced:
		c.Beyond = true
	case factor < limit.Reduced:
		c.Beyond, high = true, measured
	default:
		c.Ratio, c.Low = &ratio, &low
	}
	c.High = &high
	return c
}
