package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

func sizeTitle(r *record.Sizing) string {
	need := "matching"
	if r.Need != nil {
		need = r.Need.Text
	}
	switch {
	case r.Verdict == record.SizeImpossible:
		return need + ": this cannot be met with what was measured"
	case r.Verdict == record.SizeUnknown:
		return need + ": these records cannot decide"
	case r.Answer == nil:
		return "nodes that match another deployment"
	}
	return need + ": " + sizeText(r.Answer)
}

func sizeText(a *record.SizeAnswer) string {
	text := figure.Plural(a.Nodes, "node") + prefixed(" of type ", a.Type) + bracketed(sizeShards(a))
	if a.AtMost {
		text = "at most " + text
	}
	text += ", " + cmp.Or(suffixed(bytesOr(a.Memory, ""), " of memory"), "memory unknown") + ", " + figure.Bytes(a.Disk) + " of disk each"
	if p := a.Price; p != nil {
		text += ", " + money(p.Month, p.Currency) + " per month"
	}
	if a.DataFactor >= 10 {
		text += "; measured with 1/" + figure.Significant(a.DataFactor) + " of the documents of a node"
	}
	return text
}

// sizeShards is how the nodes of an answer keep the data: "3 shards of 3 copies and 1 spare".
func sizeShards(a *record.SizeAnswer) string {
	copies := strconv.Itoa(a.Copies) + " copies"
	if a.Copies == 1 {
		copies = "one copy"
	}
	text := figure.Plural(a.Shards, "shard") + " of " + copies
	if a.Spare > 0 {
		text += " and " + strconv.Itoa(a.Spare) + " spare"
	}
	return text
}

func money(x float64, currency string) string {
	whole, cents := math.Modf(math.Round(x*100) / 100)
	text := figure.Count(int64(whole))
	if cents > 0 {
		text += strings.TrimPrefix(strconv.FormatFloat(cents, 'f', 2, 64), "0")
	}
	return text + " " + currency
}

func sizeNumber(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e9 {
		return figure.Count(int64(x))
	}
	return figure.Significant(x)
}

// sizeDocument describes a size: reasons, price, measurements, alternatives, doubts.
func sizeDocument(r *record.Sizing) *Document {
	d := answered(sizeTitle(r), "", r.Validity)
	if r.Verdict == record.SizeUnknown {
		d.refuse(r.Reasons)
	}
	d.Summary = sizeSummary(r)
	d.Sections = appendFilled(nil, Section{ID: "reasons", Title: "reasons", Lines: r.Reasons}, sizePrice(r),
		sizeChoices(r), sizeRefused(r), sizeMultipliers(r), sizeWorkloads(r), sizeObjectives(r))
	for i := range r.Workloads {
		w := &r.Workloads[i]
		d.Sections = appendFilled(d.Sections, sizeMemory(w), sizeScaling(w))
	}
	return d
}

func sizePrice(r *record.Sizing) Section {
	if r.Answer == nil || r.Answer.Price == nil {
		return Section{}
	}
	p := r.Answer.Price
	line := money(p.Month, p.Currency) + " per month"
	if p.PerRate != nil {
		line += fmt.Sprintf("; %s %s per month for each operation per second, %s %s for a million operations at the rate that is needed (both rounded up; estimates, as the size is)",
			number(*p.PerRate), p.Currency, number(*p.PerMillion), p.Currency)
	}
	return Section{Title: "price", Lines: []string{line + ".", "prices of " + p.Date + ", from " + p.Source}}
}

func sizeChoices(r *record.Sizing) Section {
	if r.Answer == nil || len(r.Alternatives) == 0 {
		return Section{}
	}
	s := Section{Title: "alternatives", Table: &Table{Header: []string{"type", "nodes", "shards", "copies", "spare", "memory", "disk", "per month", "decides"}, Left: 1, Last: 1}}
	for i, a := range append([]record.SizeAnswer{*r.Answer}, r.Alternatives...) {
		name, price := a.Type, "-"
		if name == "" {
			name = "like the measured"
			if i > 0 {
				name = "with more memory"
			}
		}
		if a.Price != nil {
			price = money(a.Price.Month, a.Price.Currency)
		}
		s.Table.row(name, figure.Count(int64(a.Nodes)), figure.Count(int64(a.Shards)), strconv.Itoa(a.Copies),
			strconv.Itoa(a.Spare), bytesOr(a.Memory, "-"), figure.Bytes(a.Disk), price, a.Decides)
	}
	return s
}

func sizeRefused(r *record.Sizing) Section {
	s := Section{Title: "node types that do not fit", Table: &Table{Header: []string{"type", "why"}, Left: 2}}
	for _, n := range r.Refused {
		s.Table.row(n.Type, n.Why)
	}
	return s
}

func sizeMultipliers(r *record.Sizing) Section {
	s := Section{Title: "multipliers", Table: &Table{
		Header: []string{"workload", "ops/s", "to match", "multiplier", "interval", "n", "nodes measured", "nodes needed", "interval", "based on"}, Left: 1, Last: 1}}
	for _, m := range r.Multipliers {
		s.Table.row(m.Workload, figure.Rate(m.Base), figure.Rate(m.Value), figure.Significant(m.Ratio),
			span(m.Low, m.High, ""), fmt.Sprintf("%d, %d", m.NBase, m.N),
			strconv.Itoa(m.BaseNodes), figure.Significant(m.Nodes), span(m.NodesLow, m.NodesHigh, ""), m.Assumption)
	}
	return s
}

func sizeWorkloads(r *record.Sizing) Section {
	s := Section{Title: "measurements", Table: &Table{
		Header: []string{"workload", "ops/s", "interval", "n", "from", "nodes", "copies", "nodes needed", "interval", "based on"}, Left: 1, Last: 1}}
	for _, w := range r.Workloads {
		needed, on := "-", "-"
		if w.Needed != nil {
			needed, on = figure.Significant(*w.Needed), w.Assumption
		}
		s.Table.row(w.Workload, figure.Rate(w.Rate), span(w.Low, w.High, measure.UnitRate), strconv.Itoa(w.N),
			cmp.Or(map[string]string{"capacity": "load line", "open": "offered rate"}[w.Source], "closed loop"), strconv.Itoa(w.Nodes), strconv.Itoa(w.Copies),
			needed, nodesSpan(w.NeededLow, w.NeededHigh), on)
	}
	return s
}

func sizeObjectives(r *record.Sizing) Section {
	s := Section{Title: "objectives at the measured load", Table: &Table{Header: []string{"workload", "objective", "trials that met it", "worst"}, Left: 2}}
	for _, w := range r.Workloads {
		for _, o := range w.Objectives {
			met := fmt.Sprintf("%d of %d", o.Met, o.N)
			if o.Unknown > 0 {
				met += fmt.Sprintf(", %d undecided", o.Unknown)
			}
			s.Table.row(w.Workload, o.Objective, met, optional(o.Worst, o.Unit))
		}
	}
	return s
}

func sizeMemory(w *record.SizeWorkload) Section {
	m := w.Memory
	if m == nil || m.Hit == nil {
		return Section{}
	}
	s := Section{Title: fmt.Sprintf("workload %s: data against a cache of %s", w.Workload, figure.Bytes(m.Cache)),
		Lines: []string{fmt.Sprintf("Predicted for keys that are %s and documents of %s bytes. The row with * was measured; from the first row below 100 %% on, the data no longer fit.", m.Distribution, figure.Count(int64(m.DocBytes+0.5)))},
		Table: &Table{Header: []string{"documents of a member", "hit ratio", "pages read per operation"}, Left: 1}}
	if m.MissesMeasured != nil {
		s.Lines = append(s.Lines, fmt.Sprintf("The server counted %s pages read per operation, the model predicts %s.", figure.Significant(*m.MissesMeasured), figure.Significant(*m.Misses)))
	}
	if m.HitServer != nil {
		s.Lines = append(s.Lines, fmt.Sprintf("By the server's own counters, which count inner pages as well, %s of all page requests were hits.", figure.Percent(*m.HitServer)))
	}
	for _, p := range m.Course {
		name := figure.Bytes(p.Data)
		if p.Measured {
			name += " *"
		}
		s.Table.row(name, figure.Percent(p.Hit), figure.Significant(p.Misses))
	}
	return s
}

func sizeScaling(w *record.SizeWorkload) Section {
	c := w.Scaling
	if c == nil {
		return Section{}
	}
	s := Section{Title: fmt.Sprintf("workload %s: throughput by %s", w.Workload, c.Factor),
		Table: &Table{Header: []string{c.Factor, "ops/s", "interval", "n"}, Left: 1}}
	if l := c.Law; l != nil {
		line := fmt.Sprintf("Scalability law: %s/s for one, contention %s, coherency %s, off by %s.", figure.Rate(l.Lambda),
			figure.Significant(l.Sigma), figure.Significant(l.Kappa), figure.Percent(l.Error))
		if l.Peak != nil {
			line += " Throughput peaks at " + figure.Significant(*l.Peak)
			if l.PeakLow != nil && l.PeakHigh == nil {
				line += ", at " + figure.Significant(*l.PeakLow) + " or more"
			} else if l.PeakLow != nil {
				line += ", interval " + span(l.PeakLow, l.PeakHigh, "")
			}
			line += "."
		}
		s.Lines = append(s.Lines, line)
	}
	for _, text := range c.Warnings {
		s.Points = append(s.Points, Point{Warn, "", text})
	}
	for _, p := range c.Points {
		s.Table.row(sizeNumber(p.Size), figure.Rate(p.Throughput), span(p.Low, p.High, measure.UnitRate), strconv.Itoa(p.N))
	}
	return s
}

// nodesSpan is an interval of a number of nodes. It has no upper end beyond the measured sizes.
func nodesSpan(low, high *float64) string {
	if low != nil && high == nil {
		return "at least " + figure.Significant(*low)
	}
	return span(low, high, "")
}

func sizeKind() *kind {
	k := kindOf("a size", figureless(sizeDocument))
	k.loaded = typed(func(r *record.Sizing) (list []string) {
		for _, w := range r.Workloads {
			list = append(list, w.Software)
		}
		return list
	})
	return k
}
