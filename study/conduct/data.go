package conduct

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Trials share data if they can. The plan gives configurations that need other documents their own database or
// directory, so the load phase of a trial only finds the documents that it needs, all or some of them. It loads those
// that are missing. With reload: true every trial drops the data and loads them again.
//
// Inserts of the corrected workloads have new keys in every run, so they never collide, but the data grow. Loading them
// again for that may take hours, so it is done only with reload: true, and growth beyond [grownTooMuch] is a finding.
// Inserts of the ycsb workloads begin with the same keys in every run, as those of YCSB do, so the next trial must load
// the data again, or its inserts would fail.

// dataSets is the state of the data on the targets of a study, as far as known.
type dataSets struct {
	dir    string // of the study
	reload bool   // every trial begins with fresh data
	drop   bool   // data that this study did not load may be dropped
	places map[string]dataState
}

// dataState is the state of the data in one place.
type dataState struct {
	ready bool // all records are there
	ours  bool // this study loaded every one of them
	taken bool // the keys that the next trial would insert are there
	most  float64
}

// placeOf names the place of the data of a run, without credentials; "" for targets that store nothing.
func placeOf(asked spec.Run) string {
	t, err := run.ParseTarget(asked.Target)
	if err != nil || t.Kind == "null" || t.Kind == "null-tcp" {
		return ""
	}
	return strings.Join([]string{t.String(), asked.Database,
		cmp.Or(asked.Workload.Params["table"], familyOf(asked.Workload.Name))}, " ")
}

// familyOf names the collection of workloads that share one.
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
			return nil, &campaign.Stop{Reason: campaign.NotOurs, Text: fmt.Sprintf(
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

// after returns the state of the data after a trial. begun is that at its beginning.
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
	return slices.ContainsFunc(r.Phases, func(p record.PhaseResult) bool {
		class := p.Class("insert")
		return p.Phase != "load" && class != nil && class.Counts.Attempted > 0
	})
}

// ended updates the state with the data of a trial that ended in this session or a previous one.
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

// cutShort updates the state with a trial whose end is not known: its data may be loaded in part, and its inserts are
// unknown.
func (d *dataSets) cutShort(t *record.TrialData) {
	s := d.places[t.Place]
	s.ready = s.ready && !t.Dropped
	s.ours = s.ours || t.Dropped
	s.taken = s.taken || t.Taken
	d.places[t.Place] = s
}

// removed updates the state after a target was removed with its data.
func (d *dataSets) removed(target string) {
	for place, state := range d.places {
		if strings.HasPrefix(place, target+" ") {
			d.places[place] = dataState{most: state.most}
		}
	}
}

// grownTooMuch is the share by which data may grow without a finding.
const grownTooMuch = 0.05

// grew finds data sets that became larger than the trials need.
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
