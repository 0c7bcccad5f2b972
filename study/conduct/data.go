package conduct

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Trials share data where they can. The plan gives configurations that need other documents a database or directory
// of their own, so the load phase of a trial always finds the documents that it wants, all or part of them: it loads
// what is missing, and goes on where a trial was cut short. With reload: true every trial drops and loads anew.
//
// Inserts of the corrected workloads have keys of their own in every run, so they never collide, but the data grow.
// To load anew for that would take hours where data are large, so it is left to who asks for it (reload: true), and
// growth beyond [grownTooMuch] is a finding. Inserts of the ycsb workloads begin with the same keys in every run, as
// those of YCSB do: there the next trial must load anew, or its inserts would fail.

// dataState is what is known of the data in one place.
type dataState struct {
	ready bool // all records are there
	ours  bool // this study loaded every one of them
	taken bool // the keys that the next trial would insert are there
	most  float64
}

// placeOf names where the data of a run are, without credentials; "" for targets that keep nothing.
func (c *conductor) placeOf(asked spec.Run) string {
	t, err := run.ParseTarget(asked.Target)
	if err != nil || t.Kind == "null" || t.Kind == "null-tcp" {
		return ""
	}
	return strings.Join([]string{t.String(), asked.Database, orElse(asked.Workload.Params["table"], familyOf(asked.Workload.Name))}, " ")
}

// familyOf names what workloads that share a collection have in common.
func familyOf(name string) string {
	name = strings.ToLower(name)
	if name == "person" || name == "location" || name == "catalog" {
		return name
	}
	return "usertable"
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// arrange decides whether a trial begins with fresh data.
func (c *conductor) arrange(j *job) (*record.TrialData, error) {
	place := c.placeOf(j.spec)
	if place == "" || j.spec.LoadPhase.Skip {
		return nil, nil
	}
	state := c.data[place]
	if c.spec.Reload {
		j.spec.LoadPhase.Drop = true
	}
	if state.taken && !j.spec.LoadPhase.Drop {
		if !state.ours && !c.o.Drop {
			return nil, &Stop{Reason: NotOurs, Text: fmt.Sprintf(
				"inserts of workload %s use the same keys in every trial, so the next one needs fresh data, but this study did not load those in %s: "+
					"go on with plimsoll study resume %s --drop if they may be dropped, or begin a study with another database",
				j.spec.Workload.Name, place, c.o.Dir)}
		}
		j.spec.LoadPhase.Drop = true
	}
	drop := j.spec.LoadPhase.Drop
	return &record.TrialData{Place: place, Dropped: drop, Ours: drop || state.ours, Taken: takesKeys(j.spec.Workload)}, nil
}

// takesKeys reports whether a run inserts documents under keys that every run begins with.
func takesKeys(w spec.Workload) bool {
	stock, _ := workload.Stock(strings.TrimPrefix(strings.ToLower(w.Name), "ycsb-"))
	share, err := strconv.ParseFloat(orElse(w.Params["insertproportion"], stock["insertproportion"]), 64)
	return w.Mode == "ycsb" && (err != nil && w.Params["insertproportion"] != "" || share > 0)
}

// settled says what is known of the data after a trial.
func (c *conductor) settled(d *record.TrialData, r study.Result) *record.TrialData {
	if d == nil {
		return nil
	}
	out := *d
	if r.Run != nil && r.Run.Fill != nil {
		f := r.Run.Fill
		out.Records, out.Held = f.Records, max(f.Present+f.Inserted, f.Counted)
		out.Ready = out.Held >= f.Records
		out.Ours = d.Ours || f.Present == 0
	}
	if r.Run != nil && r.Run.Status == record.Complete {
		out.Taken = d.Taken && inserted(r.Run)
	}
	c.remember(&out)
	return &out
}

// inserted reports whether a run inserted documents besides those of its load phase.
func inserted(r *record.Run) bool {
	for _, p := range r.Phases {
		if class := p.Class("insert"); p.Phase != "load" && class != nil && class.Counts.Attempted > 0 {
			return true
		}
	}
	return false
}

// remember takes what a trial, of this session or of one before, said of its data.
func (c *conductor) remember(d *record.TrialData) {
	s := c.data[d.Place]
	if d.Dropped && d.Ready {
		s.taken = false
	}
	if d.Ready || d.Dropped {
		s.ready, s.ours = d.Ready, d.Ours
	}
	s.taken = s.taken || d.Taken
	if d.Records > 0 {
		s.most = max(s.most, float64(d.Held)/float64(d.Records)-1)
	}
	c.data[d.Place] = s
}

// begun takes into account that a trial began which was never seen to end: what it dropped may be loaded in part,
// and what it inserted is unknown.
func (c *conductor) begun(d *record.TrialData) {
	s := c.data[d.Place]
	s.ready = s.ready && !d.Dropped
	s.ours = s.ours || d.Dropped
	s.taken = s.taken || d.Taken
	c.data[d.Place] = s
}

// grownTooMuch is the share by which data may grow before it is said: a tenth more documents is seldom felt, but
// the trials at the end should not run on visibly more than those at the beginning.
const grownTooMuch = 0.05

// grew finds the places whose data became larger than what the trials asked for.
func (c *conductor) grew() []measure.Finding {
	var all []measure.Finding
	for place, s := range c.data {
		if s.most < grownTooMuch {
			continue
		}
		most, limit := s.most, grownTooMuch
		all = append(all, measure.Finding{ID: "data-grew", Severity: measure.Warning, Value: &most, Limit: &limit, Unit: measure.UnitShare,
			Text: fmt.Sprintf("inserts made the data in %s grow by up to %s beyond what trials ask for, so later trials ran on more than earlier ones: begin each with the same data (reload: true)",
				place, figure.Percent(s.most))})
	}
	return all
}
