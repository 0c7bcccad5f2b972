package capacity

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Input has the evidence and the need of a size.
type Input struct {
	Records    []string // directories of runs and studies of the deployment to be sized
	Match      []string // those of another deployment, which the one in Records has to match
	Need       *Need    // nil: only match
	Deployment Deployment
	// Sync is the time of a sync of the journal. 0: that of Probe, or else that of the measured servers. Batch is the
	// most commits of one sync, 0 for half of the clients.
	Sync   time.Duration
	Batch  float64
	Probe  *record.Probe   // of the disk for the journal (plimsoll disk), nil without one
	Prices *spec.PriceList // nil for nodes like the measured ones
	Tool   record.Tool
}

// Deployment describes what a record does not say about the measured deployment. Zero values are taken from the record
// if it has them.
type Deployment struct {
	Nodes  int   // with data, of the whole deployment
	Copies int   // of each document
	Memory int64 // of each node, in bytes
	Cores  float64
}

type sizer struct {
	in      Input
	out     *record.Sizing
	demands []*demand
}

// Size computes the size that is needed. An error means that a record cannot be read or an option is wrong. If there is
// no answer, the result says why.
func Size(in Input) (*record.Sizing, error) {
	s := &sizer{in: in, out: &record.Sizing{
		SchemaVersion: record.SchemaVersion, Kind: record.KindSize, Tool: in.Tool, Verdict: record.SizeAnswered,
		Workloads: []record.SizeWorkload{}, Reasons: []string{}, Validity: []measure.Finding{},
	}}
	if err := in.check(); err != nil {
		return nil, err
	}
	err := s.answer()
	var no unusable
	if errors.As(err, &no) {
		s.refuse(record.SizeUnknown, no.why)
	} else if err != nil {
		return nil, err
	}
	for _, d := range s.demands {
		s.out.Workloads = append(s.out.Workloads, d.out) // complete only now
	}
	if s.out.Verdict != record.SizeAnswered {
		s.out.Answer, s.out.Alternatives = nil, nil
	}
	measure.SortFindings(s.out.Validity)
	roundAll(reflect.ValueOf(s.out))
	return s.out, nil
}

// roundAll rounds all figures to nine significant digits, so that they are the same on every machine.
func roundAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			roundAll(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			roundAll(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			roundAll(v.Index(i))
		}
	case reflect.Float64:
		if x, err := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', 9, 64), 64); err == nil {
			v.SetFloat(x)
		}
	}
}

func (in Input) check() error {
	d := in.Deployment
	switch {
	case len(in.Records) == 0:
		return errors.New("a size needs at least one record of a run or a study")
	case in.Need == nil && len(in.Match) == 0:
		return errors.New("give the need (--need 'ops=50000,p99<20ms,data=2TiB'), or the records to match (--match DIR)")
	case d.Nodes < 0 || d.Copies < 0 || d.Memory < 0 || d.Cores < 0 || math.IsNaN(d.Cores) || in.Sync < 0 ||
		!(in.Batch >= 0):
		return errors.New("nodes, copies, memory, cores, fsync and batch must not be negative")
	case d.Nodes > 0 && d.Copies > 0 && d.Nodes%d.Copies != 0:
		return fmt.Errorf("%d nodes cannot have shards of %d copies each. Give the number of nodes with data, of all shards together", d.Nodes, d.Copies)
	case in.Sync > time.Minute:
		return fmt.Errorf("a sync of %v is too long for a disk. Write it like 2.1ms", in.Sync)
	}
	return nil
}

// refuse sets the verdict of a need without an answer. Unknown outweighs impossible.
func (s *sizer) refuse(verdict record.SizeVerdict, why string) {
	if s.out.Verdict == record.SizeAnswered || verdict == record.SizeUnknown {
		s.out.Verdict = verdict
	}
	if !slices.Contains(s.out.Reasons, why) {
		s.out.Reasons = append(s.out.Reasons, why)
	}
}

func (s *sizer) reason(format string, a ...any) {
	s.out.Reasons = append(s.out.Reasons, fmt.Sprintf(format, a...))
}

func (s *sizer) doubt(id string, severity measure.Severity, format string, a ...any) {
	f := measure.Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, a...)}
	if !slices.ContainsFunc(s.out.Validity, func(o measure.Finding) bool { return o.ID == f.ID && o.Text == f.Text }) {
		s.out.Validity = append(s.out.Validity, f)
	}
}

func (s *sizer) answer() error {
	if s.in.Need != nil {
		need := s.in.Need.SizeNeed
		s.out.Need = &need
	}
	g, err := gather(s.in.Records)
	if err != nil {
		s.out.Validity = append(s.out.Validity, g.notes...)
		return err
	}
	for _, w := range g.workloads {
		w.largestData(g)
		d, err := s.newDemand(w)
		if err != nil {
			return err
		}
		s.demands = append(s.demands, d)
	}
	s.out.Validity = append(s.out.Validity, g.notes...)
	s.checkTargets()
	if err := s.match(); err != nil {
		return err
	}
	if s.in.Need == nil {
		return nil
	}
	for _, d := range s.demands {
		s.weigh(d)
	}
	if s.out.Verdict == record.SizeAnswered {
		s.choose()
	}
	return nil
}

// checkTargets warns if the records are of several deployments.
func (s *sizer) checkTargets() {
	var seen []string
	for _, d := range s.demands {
		for _, t := range d.w.trials {
			if t.size == 0 && !slices.Contains(seen, t.run.Target.Address) {
				seen = append(seen, t.run.Target.Address)
			}
		}
	}
	if len(seen) > 1 {
		s.doubt("several-targets", measure.Warning, "the records are of several targets (%s) but are treated as one deployment. Size one at a time", strings.Join(seen, ", "))
	}
}

// match compares every workload with the same one of the deployment to match.
func (s *sizer) match() error {
	if len(s.in.Match) == 0 {
		return nil
	}
	other, err := gather(s.in.Match)
	s.out.Validity = append(s.out.Validity, other.notes...)
	if err != nil {
		return err
	}
	found := 0
	for _, w := range other.workloads {
		i := slices.IndexFunc(s.demands, func(d *demand) bool { return d.w.name == w.name })
		if i < 0 {
			s.doubt("workload-unmatched", measure.Warning, "workload %s is in the records to match but not in those to size, so it was ignored", w.name)
			continue
		}
		found++
		if err := s.matchOne(s.demands[i], w); err != nil {
			return err
		}
	}
	if found == 0 {
		return unusable{"no workload was measured on both deployments with the same parameters and durability, so there is nothing to match"}
	}
	return nil
}

func (s *sizer) matchOne(d *demand, w *workloadRuns) error {
	points := w.points()
	for _, p := range points {
		if err := p.judge(s.objectives()); err != nil {
			return err
		}
	}
	value := best(points)
	if value.source == sourceClosed != (d.p.source == sourceClosed) {
		s.doubt("loads-differ", measure.Warning, "workload %s: one side is a closed loop, the other an offered rate that held, so they are not comparable", w.name)
	} else if value.source == sourceClosed && value.load != d.p.load {
		s.doubt("workers-differ", measure.Warning, "workload %s: %v workers on one side, %v on the other, so they are not comparable", w.name, d.p.load, value.load)
	}
	var scaling *Scaling
	if d.factor != "" {
		scaling = d.scaling
	}
	m, err := Multiply(d.p.rates, value.rates, float64(d.nodes), scaling)
	if err != nil {
		return unusable{fmt.Sprintf("workload %s: %v", w.name, err)}
	}
	out := record.SizeMultiplier{
		Workload: w.name, NBase: len(d.p.rates), N: len(value.rates),
		Base: stats.Middle(d.p.rates), Value: stats.Middle(value.rates),
		Ratio: m.Ratio, BaseNodes: d.nodes, Nodes: m.Nodes.N, Assumption: m.Nodes.Assumption,
	}
	if m.Known {
		out.Low, out.High = &m.Low, &m.High
	}
	if m.Nodes.Known {
		out.NodesLow, out.NodesHigh = record.Finite(m.Nodes.Low), record.Finite(m.Nodes.High)
	}
	s.out.Multipliers = append(s.out.Multipliers, out)
	for _, doubt := range m.Nodes.Doubts {
		s.doubt("scaling-"+m.Nodes.Assumption, measure.Warning, "workload %s: %s", w.name, doubt)
	}
	return nil
}

func (s *sizer) objectives() []measure.Objective {
	if s.in.Need == nil {
		return nil
	}
	return s.in.Need.objectives
}
