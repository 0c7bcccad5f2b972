package record

import (
	"fmt"
	"slices"
)

// StudyWriter writes what belongs to a study as a whole: study.json and the journal. Its trials are records below it.
type StudyWriter = Store[*Study]

// identity is what a resume depends on.
func (s *Study) identity() []string {
	list := []string{string(s.Status), fmt.Sprint(len(s.Configurations))}
	for i := range s.Trials {
		t := &s.Trials[i]
		list = append(list, fmt.Sprint(t.Number, t.Attempt, t.Status, t.Kind, t.Record))
	}
	return list
}

func (s *Study) complete(dir string, held bool) error {
	events, _, err := ReadJournal(dir)
	if err != nil {
		return err
	}
	s.placeAll(events)
	if held {
		return nil
	}
	if s.Status == Running {
		s.Status = Killed
	}
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Status == TrialRunning {
			t.Status, t.Problem = TrialLost, "the study was killed during this trial"
		}
	}
	return nil
}

// placeAll puts what a journal says into the list, as [Study.Place] does one by one. Most of it has its place there
// already; the rest is put in at once, because a journal may have many lines.
func (s *Study) placeAll(events []StudyEvent) {
	type trial struct {
		search bool
		number int
	}
	type attempt struct {
		trial
		attempt int
	}
	trialOf := func(t *Trial) trial { return trial{t.Kind == TrialSearch, t.Number} }
	at, open := map[attempt]int{}, map[trial]int{} // open ones stand for any attempt that is to come
	note := func(i int) {
		t := &s.Trials[i]
		at[attempt{trialOf(t), t.Attempt}] = i
		if delete(open, trialOf(t)); t.Status == TrialPlanned || t.Status == TrialLeft {
			open[trialOf(t)] = i
		}
	}
	for i := range s.Trials {
		note(i)
	}
	known := len(s.Trials)
	for i := range events {
		t := events[i].Trial
		if t == nil {
			continue
		}
		j, have := at[attempt{trialOf(t), t.Attempt}]
		if have && rankOf(t.Status) < rankOf(s.Trials[j].Status) {
			continue
		}
		if !have {
			j, have = open[trialOf(t)]
		}
		if !have {
			j, s.Trials = len(s.Trials), append(s.Trials, Trial{})
		}
		s.Trials[j] = *t
		note(j)
	}
	if len(s.Trials) > known {
		slices.SortStableFunc(s.Trials, func(a, b Trial) int {
			switch {
			case behind(&a, &b):
				return 1
			case behind(&b, &a):
				return -1
			}
			return 0
		})
	}
}

// Place puts what is known of a trial into the list: over the same attempt if that is not known to be further,
// otherwise behind the earlier attempts; trials of procedures come first.
func (s *Study) Place(t Trial) {
	at := 0
	for i := range s.Trials {
		have := &s.Trials[i]
		switch {
		case sameTrial(have, &t) && have.Attempt == t.Attempt:
			if rankOf(t.Status) >= rankOf(have.Status) {
				*have = t
			}
			return
		case sameTrial(have, &t) && (have.Status == TrialPlanned || have.Status == TrialLeft):
			// It may be any future attempt.
			*have = t
			return
		case !behind(have, &t):
			at = i + 1
		}
	}
	s.Trials = slices.Insert(s.Trials, at, t)
}

func sameTrial(a, b *Trial) bool {
	return a.Number == b.Number && (a.Kind == TrialSearch) == (b.Kind == TrialSearch)
}

// behind reports whether a comes later than b in the list.
func behind(a, b *Trial) bool {
	if (a.Kind == TrialSearch) != (b.Kind == TrialSearch) {
		return b.Kind == TrialSearch
	}
	if a.Number != b.Number {
		return a.Number > b.Number
	}
	return a.Attempt > b.Attempt
}

func rankOf(s TrialStatus) int {
	switch s {
	case TrialPlanned, TrialLeft: // it did not begin
		return 0
	case TrialRunning:
		return 1
	}
	return 2
}

// FreeBytes returns how much can still be written to the file system of a directory, which need not be there yet;
// known is false where that cannot be found out.
func FreeBytes(dir string) (bytes uint64, known bool) {
	f := filesystemOf("free", existing(dir))
	return f.Free, f.Bytes > 0
}
