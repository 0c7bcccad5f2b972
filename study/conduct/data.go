package conduct

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
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

// dataSets is what is known of the data on the targets of a study.
type dataSets struct {
	dir    string // of the study
	reload bool   // every trial begins with fresh data
	drop   bool   // data that this study did not load may be dropped
	places map[string]dataState
}

// dataState is what is known of the data in one place.
type dataState struct {
	ready bool // all records are there
	ours  bool // this study loaded every one of them
	taken bool // the keys that the next trial would insert are there
	most  float64
}

// placeOf names where the data of a run are, without credentials; "" for targets that keep nothing.
func placeOf(asked spec.Run) string {
	t, err := run.ParseTarget(asked.Target)
	if err != nil || t.Kind == "null" || t.Kind == "null-tcp" {
		return ""
	}
	return strings.Join([]string{t.String(), asked.Database,
		cmp.Or(asked.Workload.Params["table"], familyOf(asked.Workload.Name))}, " ")
}

// familyOf names what workloads that share a collection have in common.
func familyOf(name string) string {
	name = strings.ToLower(name)
	if name == "person" || name == "location" || name == "catalog" {
		return name
	}
	return "usertable"
}

// arrange decides whether a trial begins with fresh data.
func (d *dataSets) arrange(j *job) (*record.TrialData, error) {
	place := placeOf(j.spec)
	if place == "" || j.spec.LoadPhase.Skip {
		return nil, nil
	}
	state := d.places[place]
	if d.reload {
		j.spec.LoadPhase.Drop = true
	}
	if state.taken && !j.spec.LoadPhase.Drop {
		if !state.ours && !d.drop {
			return nil, &Stop{Reason: NotOurs, Text: fmt.Sprintf(
				"inserts of workload %s use the same keys in every trial, so the next trial needs fresh data, but this study did not load "+
					"the data in %s. If they may be dropped, continue with: plimsoll study resume %s --drop. Otherwise begin a study with "+
					"another database",
				j.spec.Workload.Name, place, d.dir)}
		}
		j.spec.LoadPhase.Drop = true
	}
	drop := j.spec.LoadPhase.Drop
	return &record.TrialData{Place: place, Dropped: drop, Ours: drop || state.ours, Taken: takesKeys(j.spec.Workload)}, nil
}

// takesKeys reports whether a run inserts documents under keys that every run begins with.
func takesKeys(w spec.Workload) bool {
	stock, _ := workload.Stock(strings.TrimPrefix(strings.ToLower(w.Name), "ycsb-"))
	share, err := strconv.ParseFloat(cmp.Or(w.Params["insertproportion"], stock["insertproportion"]), 64)
	return w.Mode == "ycsb" && (err != nil && w.Params["insertproportion"] != "" || share > 0)
}

// after says what is known of the data after a trial. begun is what was known when it began.
func (d *dataSets) after(begun *record.TrialData, r *record.Run) *record.TrialData {
	if begun == nil {
		return nil
	}
	out := *begun
	if r != nil && r.Fill != nil {
		f := r.Fill
		out.Records, out.Held = f.Records, max(f.Present+f.Inserted, f.Counted)
		out.Ready = out.Held >= f.Records
		out.Ours = begun.Ours || f.Present == 0
	}
	if r != nil && r.Status == record.Complete {
		out.Taken = begun.Taken && inserted(r)
	}
	d.ended(&out)
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

// ended takes what a trial that ended, in this session or in one before, said of its data.
func (d *dataSets) ended(t *record.TrialData) {
	s := d.places[t.Place]
	if t.Dropped && t.Ready {
		s.taken = false
	}
	if t.Ready || t.Dropped {
		s.ready, s.ours = t.Ready, t.Ours
	}
	s.taken = s.taken || t.Taken
	if t.Records > 0 {
		s.most = max(s.most, float64(t.Held)/float64(t.Records)-1)
	}
	d.places[t.Place] = s
}

// cutShort takes into account that a trial began which was never seen to end: what it dropped may be loaded in part,
// and what it inserted is unknown.
func (d *dataSets) cutShort(t *record.TrialData) {
	s := d.places[t.Place]
	s.ready = s.ready && !t.Dropped
	s.ours = s.ours || t.Dropped
	s.taken = s.taken || t.Taken
	d.places[t.Place] = s
}

// removed takes into account that a target is there no more, and its data neither.
func (d *dataSets) removed(target string) {
	for place, state := range d.places {
		if strings.HasPrefix(place, target+" ") {
			d.places[place] = dataState{most: state.most}
		}
	}
}

// grownTooMuch is the share by which data may grow before it is said: a tenth more documents is seldom felt, but
// the trials at the end should not run on visibly more than those at the beginning.
const grownTooMuch = 0.05

// grew finds the places whose data became larger than what the trials asked for.
func (d *dataSets) grew() []measure.Finding {
	var all []measure.Finding
	for place, s := range d.places {
		if s.most < grownTooMuch {
			continue
		}
		most, limit := s.most, grownTooMuch
		all = append(all, measure.Finding{ID: "data-grew", Severity: measure.Warning, Value: &most, Limit: &limit,
			Unit: measure.UnitShare,
			Text: fmt.Sprintf("inserts made the data in %s grow by up to %s, so later trials ran with more data than earlier ones. Begin each trial "+
				"with the same data (reload: true)",
				place, figure.Percent(s.most))})
	}
	return all
}
