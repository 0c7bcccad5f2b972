package conduct

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
)

// attempts numbers the attempts of trials, whose records have directories of their own, and finds those that began.
type attempts struct {
	dir     string                       // of the study
	study   *record.Study                // without credentials
	number  uint64                       // of the run that began last
	open    map[string]*record.TrialData // of attempts whose end is unknown, by their records
	highest map[string]int               // attempt of each trial
	scanned bool                         // highest knows those of earlier sessions
}

// nextNumber returns the number of a run that begins now. It is the time, and keeps the keys of inserts of different
// runs apart. If the clock was set back, the number must not repeat. Each previous number was the start time of its
// trial or one more than its predecessor, so none exceeds the latest start plus the number of trials.
func (a *attempts) nextNumber(now time.Time) uint64 {
	if a.number == 0 {
		trials := uint64(0)
		for _, t := range a.study.Trials {
			if t.Started != nil {
				a.number = max(a.number, run.Number(*t.Started))
				trials++
			}
		}
		a.number += trials
	}
	a.number = max(run.Number(now), a.number+1)
	return a.number
}

// nameOf names a trial within a study; an attempt of it adds its number.
func nameOf(t record.Trial, procedure string) string {
	if procedure == "" {
		return fmt.Sprintf("%04d", t.Number)
	}
	return fmt.Sprintf("%s-%04d", procedure, t.Number-firstNumber[procedure])
}

// dirOf returns the directory of the record of an attempt, relative to that of the study.
func dirOf(t record.Trial, procedure string) string {
	in := record.TrialsDir
	if procedure != "" {
		in = record.ProceduresIn
	}
	return fmt.Sprintf("%s/%s-%d", in, nameOf(t, procedure), t.Attempt)
}

// next returns the number of an attempt that begins now.
func (a *attempts) next(t record.Trial, procedure string) int {
	a.highest[nameOf(t, procedure)]++
	return a.highest[nameOf(t, procedure)]
}

var attemptDir = expression.New(`^(.+)-(\d+)$`)

// scan finds the highest attempt of each trial, from the directories and the list of trials.
func (a *attempts) scan() error {
	if a.scanned {
		return nil
	}
	a.scanned = true
	see := func(name string) {
		m := attemptDir().FindStringSubmatch(name)
		if m == nil {
			return
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			a.highest[m[1]] = max(a.highest[m[1]], n)
		}
	}
	for _, in := range []string{record.TrialsDir, record.ProceduresIn} {
		at, err := record.Below(a.dir, in)
		if err != nil {
			return campaign.Unwritten(err)
		}
		entries, err := os.ReadDir(at)
		if err != nil {
			return campaign.Unwritten(err)
		}
		for _, e := range entries {
			see(e.Name())
		}
	}
	for _, t := range a.study.Trials {
		if t.Record != "" {
			see(filepath.Base(t.Record))
		}
	}
	return nil
}

// unended lists the attempts of a trial that began and whose end is unknown.
func (a *attempts) unended(t record.Trial, procedure string) ([]record.Trial, error) {
	if err := a.scan(); err != nil {
		return nil, err
	}
	var list []record.Trial
	for attempt := 1; attempt <= a.highest[nameOf(t, procedure)]; attempt++ {
		known, ended := a.known(t, attempt)
		if ended {
			continue
		}
		known.Record = cmp.Or(known.Record, dirOf(known, procedure))
		list = append(list, known)
	}
	return list, nil
}

// known returns an attempt as far as the study knows it, and whether it ended.
func (a *attempts) known(t record.Trial, attempt int) (record.Trial, bool) {
	for _, have := range a.study.Trials {
		same := have.Number == t.Number && (have.Kind == record.TrialSearch) == (t.Kind == record.TrialSearch)
		if same && have.Attempt == attempt && have.Status != record.TrialPlanned {
			return have, have.Status != record.TrialRunning
		}
	}
	t.Attempt, t.Record = attempt, ""
	t.Started, t.Seconds, t.Values, t.Validity, t.Problem = nil, 0, nil, nil, ""
	return t, false
}

// left lists the trials to run, in order: those that did not end and, with retryFailed, those that failed or are
// invalid.
func left(of *record.Study, retryFailed bool) []record.Trial {
	last := map[int]record.Trial{}
	var numbers []int
	for _, t := range of.Trials {
		if t.Kind == record.TrialSearch {
			continue
		}
		if _, seen := last[t.Number]; !seen {
			numbers = append(numbers, t.Number)
		}
		// attempts after a valid one do not count
		if have := last[t.Number]; have.Status != record.TrialDone || worthless(have) {
			last[t.Number] = t
		}
	}
	var list []record.Trial
	for _, n := range numbers {
		switch t := last[n]; t.Status {
		case record.TrialLeft: // it stays left out: see Options.TakeLeft
		case record.TrialDone, record.TrialFailed, record.TrialTimeout:
			if retryFailed && (t.Status != record.TrialDone || worthless(t)) {
				list = append(list, t)
			}
		default:
			list = append(list, t)
		}
	}
	return list
}

// worthless reports whether a finished trial is invalid.
func worthless(t record.Trial) bool { return measure.Worst(t.Validity) == measure.Invalid }

// lastProblem returns why the last failed trial failed.
func lastProblem(trials []record.Trial) string {
	problem := "no reason given"
	for _, t := range trials {
		if t.Status == record.TrialFailed || t.Status == record.TrialTimeout {
			problem = t.Problem
		}
	}
	return problem
}
