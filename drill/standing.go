package drill

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/store"
)

// mostNotes is how many notes are kept.
const mostNotes = 200

// standing writes the state of the drill for other processes, such as the live page, and passes it to a [Progress].
// Errors are ignored: a full disk must not end a drill before it has healed its faults.
type standing struct {
	next   Progress
	writer *record.DrillWriter
	now    func() time.Time

	mu      sync.Mutex
	is      record.DrillStanding
	loading bool // the measured load is under way
	// measured is the measured time as specified. The load of a drill of events may go on for longer.
	measured time.Duration
}

func newStanding(next Progress, w *record.DrillWriter, now func() time.Time, rounds int) *standing {
	return &standing{next: next, writer: w, now: now,
		is: record.DrillStanding{Rounds: rounds, Stages: []record.DrillStage{}, Notes: []record.DrillNote{}}}
}

func (s *standing) round(n int, measured time.Duration) {
	s.change(func() {
		s.measured = measured
		s.is.Round, s.is.Told = n, record.DrillTold{}
		s.is.Stages = []record.DrillStage{{Stage: record.StagePrepare, At: s.now().UTC()}}
	})
}

func (s *standing) enter(stage string) { s.change(func() { s.stage(stage) }) }

// stage enters a stage. The lock is held.
func (s *standing) stage(stage string) {
	if s.is.Stage().Stage != stage {
		s.is.Stages = append(s.is.Stages, record.DrillStage{Stage: stage, At: s.now().UTC()})
	}
}

// note keeps a note of a kind, and passes it on.
func (s *standing) note(kind, text string) {
	s.change(func() {
		s.is.Notes = append(s.is.Notes, record.DrillNote{At: s.now().UTC(), Kind: kind, Text: text})
		s.is.Notes = s.is.Notes[max(0, len(s.is.Notes)-mostNotes):]
	})
	s.next.Note(text)
}

// change changes the state and writes it.
func (s *standing) change(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	_ = s.writer.Stand(&s.is)
}

func (s *standing) Note(text string) { s.note("", text) }

func (s *standing) Step(text string) { s.next.Step(text) }

func (s *standing) Begin(p run.Plan) {
	if p.Phase == load.PhaseMeasure {
		p.Duration = s.measured
	}
	s.next.Begin(p)
}

func (s *standing) Event(e measure.Event) { s.next.Event(e) }

// Interval counts the outcomes of writes.
func (s *standing) Interval(d measure.Dims, iv *measure.Interval) {
	s.next.Interval(d, iv)
	if iv.Phase == load.PhaseLoad { // its writes are in no ledger
		return
	}
	s.change(func() {
		for i := range iv.Classes {
			if i < len(d.Classes) && !d.Classes[i].Part && !onlyReads(d.Classes[i].Name) {
				count := func(o ...store.Outcome) (n int64) {
					for _, outcome := range o {
						if int(outcome) < len(iv.Classes[i].Counts) {
							n += iv.Classes[i].Counts[outcome]
						}
					}
					return n
				}
				t := &s.is.Told
				t.Acknowledged += count(store.OK)
				t.NotApplied += count(store.NotApplied, store.Overloaded, store.Rejected, store.Conflict, store.NotFound)
				t.Indeterminate += count(store.Indeterminate, store.Unacknowledged, store.Batched, store.Partial)
			}
		}
	})
}

// onlyReads reports whether a class of operations never writes, by its name.
func onlyReads(class string) bool {
	first, _, _ := strings.Cut(class, "-")
	return slices.Contains([]string{"read", "scan", "find", "list", "count", "get", "search"}, first)
}

func (s *standing) loadBegan() {
	s.change(func() { s.loading = true; s.stage(record.StageLoad) })
}

func (s *standing) loadEnded() {
	s.change(func() { s.loading = false })
}

// healed enters the stage after a heal. left is the number of faults that are still in place.
func (s *standing) healed(left int) {
	s.change(func() {
		switch {
		case left > 0:
			s.stage(record.StageBroken)
		case s.loading:
			s.stage(record.StageHealed)
		}
	})
}
