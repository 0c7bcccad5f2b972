package conduct

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// Resume continues a study that ended before its last trial. It returns what [Run] returns. A complete study is
// returned as it is.
func Resume(ctx context.Context, dir string, o Options) (*record.Study, error) {
	o.Dir = dir
	o.defaults()
	s, release, err := campaign.Reopen[*record.Study](dir)
	if err != nil {
		return nil, err
	}
	defer release()
	spec, err := specOf(s, o.Spec, o.Key)
	if err != nil {
		return nil, campaign.Wrong(err)
	}
	plan, err := study.NewPlan(spec, o.Plan)
	if err != nil && !errors.As(err, new(*study.BudgetError)) {
		return nil, campaign.Wrong(err)
	}
	w, end, err := campaign.Continue[*record.Study](dir, spec, o.Key)
	if err != nil {
		return nil, err
	}
	defer end()
	c := newSession(o, w, s, spec)
	c.resumed = true
	if err := c.recall(plan); err != nil {
		return nil, err
	}
	if s.Status == record.Complete && len(left(s, o.RetryFailed)) == 0 {
		return s, nil
	}
	s.Status, s.Problem, s.Ended = record.Running, "", nil
	return c.perform(ctx)
}

// specOf returns the specification to continue with: the given one if it is that of the study, or the recorded one if
// this user wrote it. A specification says which programs are started, with which arguments.
func specOf(s *record.Study, given *spec.Study, key *mac.Key) (spec.Study, error) {
	if given == nil {
		if record.HasHidden(s.Specification) {
			return spec.Study{}, errors.New("the record does not contain the credentials of the target. Give the study's file again (--file FILE)")
		}
		if !s.Own(key) {
			return spec.Study{}, errors.New("the record was not written by this user with this PLIMSOLL_HOME, or was changed, so what " +
				"its specification names is not started. Give the study's file again (--file FILE)")
		}
		kept := s.Specification
		return kept, kept.Complete() // an older version knew fewer keys
	}
	spec := *given
	clean := record.Redacted(spec, spec)
	path, err := differs(s.Specification, clean)
	if err != nil {
		return spec, err
	}
	if path != "" {
		return spec, fmt.Errorf("%s has changed since the study began, so trials would not be comparable. Undo the change, or begin another "+
			"study", path)
	}
	s.Specification = clean
	return spec, nil
}

// mayChange are the keys that do not affect the measurement.
var mayChange = []string{"name", "out", "labels", "budget", "deadline", "published"}

// differs returns the first path in which two specifications differ, "" if there is none. Names come last, because they
// may be made from the rest.
func differs(a, b spec.Study) (string, error) {
	x, errX := leaves(a)
	y, errY := leaves(b)
	all := maps.Clone(x)
	maps.Copy(all, y)
	isName := func(path string) int { return map[bool]int{true: 1}[strings.HasSuffix(path, ".name")] }
	for _, path := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(isName(a)-isName(b), cmp.Compare(a, b))
	}) {
		key, _, _ := strings.Cut(path, ".")
		if x[path] != y[path] && !slices.Contains(mayChange, key) {
			return path, nil
		}
	}
	return "", errors.Join(errX, errY)
}

// leaves returns the values of a specification and the lengths of its lists by their paths.
func leaves(s spec.Study) (map[string]any, error) {
	var tree map[string]any
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &tree)
	}
	out := map[string]any{}
	var add func(path string, v any)
	add = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, x := range v {
				add(strings.TrimPrefix(path+"."+key, "."), x)
			}
		case []any:
			out[path] = len(v)
			for i, x := range v {
				add(fmt.Sprintf("%s[%d]", path, i+1), x)
			}
		default:
			out[path] = v
		}
	}
	add("", tree)
	return out, err
}

// recall restores the state of earlier sessions.
func (s *session) recall(plan *study.Plan) error {
	if err := s.recallJournal(); err != nil {
		return err
	}
	if err := s.samePlaces(plan); err != nil {
		return err
	}
	trials := s.Result.Trials
	for i := range trials {
		t := &trials[i]
		switch {
		case t.Status == record.TrialDone:
			s.pace.learn(*t)
			if s.o.Budget == nil {
				break
			}
			if r, err := record.OpenBelow(s.Dir, t.Record); err == nil {
				s.pace.learnFill(*t, filled(r))
			}
		case t.Status == record.TrialLeft && (s.o.TakeLeft || s.spec.UntilDecided && !judge.Decided(s.Result)):
			t.Status, t.Problem = record.TrialPlanned, ""
		}
	}
	if s.spec.Procedures == nil {
		return s.adopt(plan)
	}
	s.plan = plan // until the procedures are through
	return nil
}

// recallJournal reads the journal of earlier sessions, also for the state of the data.
func (s *session) recallJournal() error {
	events, unreadable, err := record.ReadJournal(s.Dir)
	if err != nil {
		return campaign.Unwritten(err)
	}
	s.Unreadable = unreadable
	open := s.attempts.open
	for i := range events {
		e := &events[i]
		switch {
		case e.Session != nil:
			s.Sessions = append(s.Sessions, *e.Session)
		case e.Event == record.EventBegin && e.Data != nil:
			open[e.Trial.Record] = e.Data
		case e.Event == record.EventEnd && e.Data != nil:
			delete(open, e.Trial.Record)
			s.data.ended(e.Data)
		}
	}
	for _, d := range open {
		s.data.cutShort(d)
	}
	return nil
}

// fileOf returns the file that a workload reads, "" for none.
func fileOf(w spec.Workload) string {
	if !strings.EqualFold(w.Params["fieldlengthdistribution"], "histogram") {
		return ""
	}
	return cmp.Or(w.Params["fieldlengthhistogram"], "hist.txt") // the default of the workloads
}

// samePlaces checks that relative directories and files have not moved.
func (s *session) samePlaces(plan *study.Plan) error {
	if len(s.Sessions) == 0 {
		return nil
	}
	began := s.Sessions[0].Directory
	if began == "" || began == campaign.Directory() {
		return nil
	}
	for _, configuration := range plan.Configurations {
		spec, err := plan.RunSpec(configuration.ID)
		if err != nil {
			return campaign.Wrong(err)
		}
		t, err := run.ParseTarget(spec.Target)
		if err == nil && t.Kind == "embedded" && !filepath.IsAbs(t.Dir) {
			return campaign.Wrong(fmt.Errorf("the target %s is a directory below %s, where the study began. Resume it from there", t, began))
		}
		if file := fileOf(spec.Workload); file != "" && !filepath.IsAbs(file) {
			return campaign.Wrong(fmt.Errorf("the workload's file %s is below %s, where the study began. Resume it from there", file, began))
		}
	}
	return nil
}

// reconcile closes attempts with an unknown end.
func (s *session) reconcile() error {
	if !s.resumed {
		return nil // nothing ran before
	}
	for _, t := range slices.Clone(s.Result.Trials) {
		if t.Kind == record.TrialSearch {
			continue
		}
		if err := s.closeAttempts(t, ""); err != nil {
			return err
		}
	}
	return nil
}

// closeAttempts closes the attempts of a trial with an unknown end: those with a complete record are done, others are
// lost.
func (s *session) closeAttempts(t record.Trial, procedure string) error {
	unended, err := s.attempts.unended(t, procedure)
	if err != nil {
		return err
	}
	for _, attempt := range unended {
		j := job{trial: attempt, procedure: procedure}
		if procedure != "" {
			j.step = attempt.Number - firstNumber[procedure]
		}
		if r := s.judgeRecord(&j.trial, procedure); r != nil {
			j.data = s.data.after(s.attempts.open[attempt.Record], r)
		}
		if err := s.Note(record.EventEnd, j); err != nil {
			return err
		}
	}
	return nil
}

// judgeRecord sets the status of an attempt from its record, and returns the record if it counts.
func (s *session) judgeRecord(t *record.Trial, procedure string) *record.Run {
	r, err := record.OpenBelow(s.Dir, t.Record)
	spec, planned := s.runs[t.Configuration]
	altered := err == nil && slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "altered" })
	switch {
	case err != nil || r.Status != record.Complete || altered:
		t.Status, t.Problem = record.TrialLost, "the study ended during the trial"
	case procedure == "" && (!planned || !r.Of(seeded(s.Result.Specification.Seed, *t, spec))):
		t.Status, t.Problem = record.TrialLost, "its record is of another run"
	case cutShort(r) != "":
		t.Status, t.Problem = record.TrialFailed, cutShort(r)
		s.evaluate(t, r)
	default:
		started := r.Started
		t.Status, t.Started, t.Problem = record.TrialDone, &started, ""
		if r.Ended != nil {
			t.Seconds = max(0, r.Ended.Sub(r.Started).Seconds()) // a clock may be set back
		}
		s.evaluate(t, r)
		s.pace.learn(*t)
		return r
	}
	return nil
}
