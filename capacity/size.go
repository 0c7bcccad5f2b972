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
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Input is what a size is made from.
type Input struct {
	// Records are the directories of runs and studies of the deployment that is to be sized.
	Records []string
	// Match are those of another deployment, which the one in Records is to match.
	Match []string
	// Need is what must be carried; nil only matches.
	Need *Need
	// Deployment is what the records do not say of what was measured.
	Deployment Deployment
	// Sync is how long the disk takes to sync the journal, 0 for that of Probe, or for what the measured servers counted,
	// if they did. Batch is how many commits one sync carries at most, 0 for half of the clients.
	Sync  time.Duration
	Batch float64
	// Probe is the record of a probe of the disk (plimsoll disk) that the journal will be on; nil without one.
	Probe *record.Probe
	// Prices are the nodes that can be had, nil for nodes like the measured ones.
	Prices *spec.PriceList
	Tool   record.Tool
}

// Deployment is what a record does not say of what it measured. Zero values are taken from the record where it knows.
type Deployment struct {
	// Nodes that kept data, of the whole deployment.
	Nodes int
	// Copies is how many of them keep each document.
	Copies int
	// Memory of each node in bytes, and Cores.
	Memory int64
	Cores  float64
}

// sizer is one question for a size on its way to the answer.
type sizer struct {
	in      Input
	out     *record.Sizing
	demands []*demand
}

// Size answers what size is needed. Its error is about what cannot be read or was given wrongly; that there is no
// answer, and why, is in the result.
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
		s.out.Workloads = append(s.out.Workloads, d.out) // whole only now
	}
	if s.out.Verdict != record.SizeAnswered {
		s.out.Answer, s.out.Alternatives = nil, nil
	}
	measure.SortFindings(s.out.Validity)
	roundAll(reflect.ValueOf(s.out))
	return s.out, nil
}

// roundAll leaves nine significant digits of every figure: more than any of them has, and the same on every machine.
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

// refuse says that there is no answer. Impossible outweighs unknown only if nothing else was unknown before.
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

// checkTargets doubts records of several deployments that are taken for one.
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

// match holds every workload against the same one of the deployment to match.
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
	value, _ := best(points)
	if value.source == sourceClosed != (d.p.source == sourceClosed) {
		s.doubt("loads-differ", measure.Warning, "workload %s: one side is a closed loop, the other an offered rate that held, so they are not comparable", w.name)
	} else if value.source == sourceClosed && value.load != d.p.load {
		s.doubt("workers-differ", measure.Warning, "workload %s: %v workers on one side, %v on the other, so they are not comparable", w.name, d.p.load, value.load)
	}
	m, err := Multiply(d.p.rates, value.rates, float64(d.nodes), d.scalingIfMeasured())
	if err != nil {
		return unusable{fmt.Sprintf("workload %s: %v", w.name, err)}
	}
	out := record.SizeMultiplier{
		Workload: w.name, Base: geoMean(d.p.rates), Value: geoMean(value.rates), NBase: len(d.p.rates), N: len(value.rates),
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
