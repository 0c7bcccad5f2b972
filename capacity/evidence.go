package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// trial is one run of a deployment.
type trial struct {
	dir       string
	run       *record.Run
	size      float64          // the level of factor, 0 without one
	factor    string           // that its study varied
	confirmed bool             // it confirmed the capacity that a study searched for
	atLeast   bool             // the highest rate of that search held
	line      *record.LoadLine // of a capacity, for whose deployment the run stands; nil for others
	// searched are the objectives that the line holds, if the run itself is not a step at the line: of a line while an
	// event lasts, or far below. nil if the run shows what holds.
	searched []measure.Objective
}

// workloadRuns are the trials of one workload.
type workloadRuns struct {
	name   string
	trials []trial
	factor string // of a study that varied the size of the deployment
	// explained is throughput by another factor than the size of the deployment, such as workers.
	explained  []ScalePoint
	explaining string
}

// gathered is the content of a list of records.
type gathered struct {
	workloads []*workloadRuns // in the order of the records
	notes     []measure.Finding
	warned    map[string]int // number of runs with a warning, by its ID
}

func (g *gathered) note(id string, severity measure.Severity, format string, a ...any) {
	f := measure.Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, a...)}
	if !slices.ContainsFunc(g.notes, func(o measure.Finding) bool { return o.ID == f.ID && o.Text == f.Text }) {
		g.notes = append(g.notes, f)
	}
}

// passOn adds the warnings of a run, each ID once: the text of the first one, and the number of others.
func (g *gathered) passOn(t trial) {
	for _, f := range t.run.Validity {
		if f.Severity != measure.Warning {
			continue
		}
		g.warned[f.ID]++
		if g.warned[f.ID] == 1 {
			g.note(f.ID, measure.Warning, "%s: %s", t.dir, f.Text)
		}
	}
}

// unusable is the reason why readable records give no size.
type unusable struct{ why string }

func (u unusable) Error() string { return u.why }

// gather reads runs and studies. An error means that a directory cannot be read, or is [unusable]. The notes until then
// are returned too, because they may explain it.
func gather(dirs []string) (*gathered, error) {
	g := &gathered{warned: map[string]int{}}
	for _, dir := range Below(dirs) {
		var err error
		if kind := record.KindIn(dir); kind == record.KindStudy {
			err = g.addStudy(dir)
		} else if kind == record.KindCapacity {
			err = g.addLines(dir)
		} else {
			var r *record.Run
			if r, err = record.OpenRun(dir); err == nil {
				err = g.addRun(trial{dir: dir, run: r}, nil)
			}
		}
		if err != nil {
			return g, err
		}
	}
	for i, f := range g.notes {
		if n := g.warned[f.ID] - 1; n > 0 {
			g.notes[i].Text += fmt.Sprintf(" (and %s)", figure.Plural(n, "other record"))
		}
	}
	return g, nil
}

// Below replaces each directory that is not a record by the runs and studies below it.
func Below(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		found, _ := record.Find(dir, record.KindStudy, record.KindRun, record.KindCapacity) // gather reports an error
		if len(found) == 0 {
			found = []string{dir}
		}
		out = append(out, found...)
	}
	return out
}

// addRun adds a run. A trial of a study that cannot be used is only noted.
func (g *gathered) addRun(t trial, in *record.Study) error {
	if why := whyUnusable(t.run); why != "" {
		if in == nil {
			return unusable{fmt.Sprintf("%s: %s", t.dir, why)}
		}
		g.note("trial-left-out", measure.Warning, "%s was ignored: %s", t.dir, why)
		return nil
	}
	g.passOn(t)
	name := describeWorkload(t.run.Specification)
	for _, w := range g.workloads {
		if w.name == name {
			w.trials = append(w.trials, t)
			w.factor = cmp.Or(w.factor, t.factor)
			return nil
		}
	}
	g.workloads = append(g.workloads, &workloadRuns{name: name, trials: []trial{t}, factor: t.factor})
	return nil
}

// whyUnusable returns the reason why a run gives no size, "" if it gives one.
func whyUnusable(r *record.Run) string {
	p := r.Phase("measure")
	switch {
	case p == nil || p.Rates.Achieved <= 0:
		return "it measured nothing. Run it again"
	case measure.Worst(r.Validity) == measure.Invalid:
		return "it is invalid (" + firstInvalid(r.Validity) + "). Remove the cause and run it again"
	case r.Target.Software() == record.SoftwareNull ||
		slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "null" }):
		return "its target stores nothing, so it measured the client only. Run it against the deployment"
	case slices.Contains([]string{record.SoftwareEmbedded, record.SoftwareStandIn}, r.Target.Software()):
		return "another engine (" + record.NotMongoDB(r.Target.Software()) + ") was measured. Its nodes carry another load. " +
			"Run it against the deployment"
	case spec.OfDrills(r.Specification.Workload.Name):
		return "its workload " + r.Specification.Workload.Name + " checks the writes of a drill and is not that of an application. " +
			"Use a run or a load line of your workload"
	case len(r.Specification.Load.Stages) > 0:
		return "its load changes (stages), so there is no single rate. Run it with one rate"
	}
	return ""
}

func firstInvalid(list []measure.Finding) string {
	for _, f := range list {
		if f.Severity == measure.Invalid {
			return f.ID + ": " + f.Text
		}
	}
	return ""
}

// describeWorkload names a workload with its parameters and durability, which must be the same in a comparison.
func describeWorkload(s spec.Run) string {
	name := s.Workload.Name
	if s.Workload.Mode == "ycsb" && !strings.HasPrefix(name, "ycsb") {
		name = "ycsb-" + name
	}
	var extra []string
	for _, k := range slices.Sorted(maps.Keys(s.Workload.Params)) {
		extra = append(extra, k+"="+s.Workload.Params[k])
	}
	d := s.Durability
	if d.Name != "" {
		extra = append(extra, d.Name)
	}
	if d.W != "" {
		extra = append(extra, "w="+d.W)
	}
	if d.Journal != nil {
		extra = append(extra, fmt.Sprintf("j=%v", *d.Journal))
	}
	if len(extra) > 0 {
		name += " (" + strings.Join(extra, ", ") + ")"
	}
	return name
}

// addStudy adds the trials of a study's comparison, and those that confirmed its capacity.
func (g *gathered) addStudy(dir string) error {
	s, err := record.OpenStudy(dir)
	if err != nil {
		return err
	}
	if measure.Worst(s.Validity) == measure.Invalid {
		return unusable{fmt.Sprintf("%s: the study is invalid (%s), so it gives no size", dir, firstInvalid(s.Validity))}
	}
	if s.Status != record.Complete {
		g.note("study-incomplete", measure.Warning, "%s: the study is not complete (%s), so only its finished trials are used", dir, s.Status)
	}
	before := g.count()
	if err := g.addCapacity(dir, s); err != nil {
		return err
	}
	factor := scalingFactor(s)
	for _, t := range s.Trials {
		if t.Kind != record.TrialCompared || t.Status != record.TrialDone || t.Record == "" {
			continue
		}
		size, varies := sizeOf(configurationOf(s, t.Configuration), factor)
		if paths := ofAnother(s, t.Configuration); !varies && len(paths) > 0 {
			g.note("configuration-left-out", measure.Note, "%s: configuration %s differs from the baseline in %s, so it is not used. To size it, give the records of its trials",
				dir, t.Configuration, strings.Join(paths, " and "))
			continue
		}
		path := filepath.Join(dir, t.Record)
		r, err := record.OpenBelow(dir, t.Record)
		if err != nil {
			return err
		}
		t := trial{dir: path, run: r}
		if varies {
			t.size, t.factor = size, factor
		}
		if err := g.addRun(t, s); err != nil {
			return err
		}
	}
	if g.count() == before {
		return unusable{fmt.Sprintf("%s: the study has no valid trial. Run it, or resume it", dir)}
	}
	g.explain(s, factor)
	return nil
}

func (g *gathered) count() int {
	n := 0
	for _, w := range g.workloads {
		n += len(w.trials)
	}
	return n
}

// addCapacity adds the trials that confirmed a capacity.
func (g *gathered) addCapacity(dir string, s *record.Study) error {
	c := s.Capacity
	if c == nil {
		return nil
	}
	if !c.Confirmed {
		g.note("capacity-unconfirmed", measure.Warning, "%s: the search for the load line did not confirm a rate (%s)", dir, c.Reason)
	}
	for _, doubt := range c.Doubts {
		g.note("capacity-doubtful", measure.Warning, "%s: the load line is doubtful: %s", dir, doubt)
	}
	if c.AtLeast && c.Confirmed {
		g.note("capacity-at-least", measure.Note, "%s: the highest allowed rate of the search held, so the load line is higher, and fewer nodes may suffice", dir)
	}
	for _, step := range c.Steps {
		if step.Phase != "confirm" || !step.Holds || step.Trial == "" || step.Offered < c.Rate*0.999 || step.Offered > c.Rate*1.001 {
			continue
		}
		r, err := record.OpenBelow(dir, step.Trial)
		if err != nil {
			return err
		}
		one := trial{dir: filepath.Join(dir, step.Trial), run: r, confirmed: true, atLeast: c.AtLeast}
		if err := g.addRun(one, s); err != nil {
			return err
		}
	}
	return nil
}

func configurationOf(s *record.Study, id string) record.Configuration {
	for _, c := range s.Configurations {
		if c.ID == id {
			return c
		}
	}
	return record.Configuration{ID: id, Baseline: true}
}

// scalingFactor returns the name of the factor that varies the size of the deployment, "" if none does. More members of
// a replica set keep more copies and serve no more load.
func scalingFactor(s *record.Study) string {
	sizes := []string{"nodes", "shards", "hosts", "servers"}
	for _, c := range s.Configurations {
		for name := range c.Levels {
			if slices.Contains(sizes, strings.ToLower(name)) {
				return name
			}
		}
	}
	return ""
}

// sizeOf reads the size from the level of a factor: 4, "4 nodes", "8-node".
func sizeOf(c record.Configuration, factor string) (float64, bool) {
	level, ok := c.Levels[factor]
	if factor == "" || !ok {
		return 0, false
	}
	var n float64
	if _, err := fmt.Sscanf(strings.TrimSpace(level), "%f", &n); err != nil || !(n > 0 && n <= 1e6) {
		return 0, false
	}
	return n, true
}

// explain collects throughput by workers, clients or members, for the scalability law.
func (g *gathered) explain(s *record.Study, factor string) {
	if len(g.workloads) == 0 {
		return
	}
	w := g.workloads[len(g.workloads)-1]
	explaining := []string{"members", "clients", "workers", "threads"}
	for _, c := range s.Configurations {
		for name := range c.Levels {
			if n, ok := sizeOf(c, name); ok && name != factor && slices.Contains(explaining, strings.ToLower(name)) {
				if xs := throughputs(s, c.ID); len(xs) > 0 {
					w.explaining = name
					w.explained = append(w.explained, ScalePoint{N: n, Throughput: xs})
				}
			}
		}
	}
	for _, p := range s.Procedures {
		if p.Name != "threads" || len(w.explained) > 0 {
			continue
		}
		for _, point := range p.Points {
			if point.Value > 0 && point.Throughput > 0 {
				w.explained = append(w.explained, ScalePoint{N: point.Value, Throughput: []float64{point.Throughput}})
			}
		}
		w.explaining = "workers"
	}
}

// throughputs returns the throughput of each finished trial of a configuration.
func throughputs(s *record.Study, id string) []float64 {
	var xs []float64
	for _, t := range s.Trials {
		if x := t.Values["throughput"]; t.Configuration == id && t.Kind == record.TrialCompared &&
			t.Status == record.TrialDone && x > 0 {
			xs = append(xs, x)
		}
	}
	return xs
}

// largestData keeps only the trials with the most data, because a smaller data set is cached better.
func (w *workloadRuns) largestData(g *gathered) {
	if w.factor != "" {
		return // paired levels grow the data with the deployment
	}
	most := slices.MaxFunc(w.trials, func(a, b trial) int {
		return cmp.Compare(a.run.Specification.Workload.Records, b.run.Specification.Workload.Records)
	}).run.Specification.Workload.Records
	all := len(w.trials)
	w.trials = slices.DeleteFunc(w.trials, func(t trial) bool { return t.run.Specification.Workload.Records != most })
	if left := all - len(w.trials); left > 0 {
		g.note("smaller-data", measure.Note, "workload %s was measured with several data sizes. %d trials with less than the largest were ignored", w.name, left)
	}
}
