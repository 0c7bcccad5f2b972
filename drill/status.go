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

// statusWriter writes the state of the drill for other processes, such as the live page, and passes it to a [Progress].
// Errors are ignored: a full disk must not end a drill before it has healed its faults.
type statusWriter struct {
	next   Progress
	writer *record.DrillWriter
	now    func() time.Time

	mu      sync.Mutex
	state   record.DrillStatus
	loading bool // the measured load is under way
	// measured is the measured time as specified. The load of a drill of events may go on for longer.
	measured time.Duration
}

func newStatusWriter(next Progress, w *record.DrillWriter, now func() time.Time, rounds int) *statusWriter {
	return &statusWriter{next: next, writer: w, now: now,
		state: record.DrillStatus{Rounds: rounds, Stages: []record.DrillStage{}, Notes: []record.DrillNote{}}}
}

func (s *statusWriter) round(n int, measured time.Duration) {
	s.change(func() {
		s.measured = measured
		s.state.Round, s.state.Writes = n, record.DrillWrites{}
		s.state.Stages = []record.DrillStage{{Stage: record.StagePrepare, At: s.now().UTC()}}
	})
}

func (s *statusWriter) enter(stage string) { s.change(func() { s.stage(stage) }) }

// stage enters a stage. The lock is held.
func (s *statusWriter) stage(stage string) {
	if s.state.Stage().Stage != stage {
		s.state.Stages = append(s.state.Stages, record.DrillStage{Stage: stage, At: s.now().UTC()})
	}
}

// note keeps a note of a kind, and passes it on.
func (s *statusWriter) note(kind, text string) {
	s.change(func() {
		s.state.Notes = append(s.state.Notes, record.DrillNote{At: s.now().UTC(), Kind: kind, Text: text})
		s.state.Notes = s.state.Notes[max(0, len(s.state.Notes)-mostNotes):]
	})
	s.next.Note(text)
}

// change changes the state and writes it.
func (s *statusWriter) change(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	_ = s.writer.Stand(&s.state)
}

func (s *statusWriter) Note(text string) { s.note("", text) }

func (s *statusWriter) Step(text string) { s.next.Step(text) }

func (s *statusWriter) Begin(p run.Plan) {
	if p.Phase == load.PhaseMeasure {
		p.Duration = s.measured
	}
	s.next.Begin(p)
}

func (s *statusWriter) Event(e measure.Event) { s.next.Event(e) }

// Interval counts the outcomes of writes.
func (s *statusWriter) Interval(d measure.Dims, iv *measure.Interval) {
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
				t := &s.state.Writes
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

func (s *statusWriter) loadBegan() {
	s.change(func() { s.loading = true; s.stage(record.StageLoad) })
}

func (s *statusWriter) loadEnded() {
	s.change(func() { s.loading = false })
}

// healed enters the stage after a heal. left is the number of faults that are still in place.
func (s *statusWriter) healed(left int) {
	s.change(func() {
		switch {
		case left > 0:
			s.stage(record.StageBroken)
		case s.loading:
			s.stage(record.StageHealed)
		}
	})
}
