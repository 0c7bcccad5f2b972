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

// mostNotes is how much of what happened is kept for whoever looks.
const mostNotes = 200

// standing keeps how the drill stands, for whoever looks at it from another process, and passes on what a [Progress] is
// told. It is best effort: a disk that is full must not end a drill before it has healed.
type standing struct {
	next   Progress
	writer *record.DrillWriter
	now    func() time.Time

	mu sync.Mutex
	is record.DrillStanding
	// measured is true between the beginning of the measured load and its end.
	measured bool
}

func newStanding(next Progress, w *record.DrillWriter, now func() time.Time, rounds int) *standing {
	return &standing{next: next, writer: w, now: now,
		is: record.DrillStanding{Rounds: rounds, Stages: []record.DrillStage{}, Notes: []record.DrillNote{}}}
}

// round begins a round.
func (s *standing) round(n int) {
	s.change(func() {
		s.is.Round, s.is.Told = n, record.DrillTold{}
		s.is.Stages = []record.DrillStage{{Stage: record.StagePrepare, At: s.now().UTC()}}
	})
}

// enter says that the round is at a stage.
func (s *standing) enter(stage string) { s.change(func() { s.stage(stage) }) }

// stage enters a stage. The lock is held.
func (s *standing) stage(stage string) {
	if s.is.Stage().Stage != stage {
		s.is.Stages = append(s.is.Stages, record.DrillStage{Stage: stage, At: s.now().UTC()})
	}
}

// told keeps a note of a kind, and passes it on.
func (s *standing) told(kind, text string) {
	s.change(func() {
		s.is.Notes = append(s.is.Notes, record.DrillNote{At: s.now().UTC(), Kind: kind, Text: text})
		s.is.Notes = s.is.Notes[max(0, len(s.is.Notes)-mostNotes):]
	})
	s.next.Note(text)
}

// change changes how it stands, and writes that down.
func (s *standing) change(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	_ = s.writer.Stand(&s.is)
}

// Note implements [Progress].
func (s *standing) Note(text string) { s.told("", text) }

// Step implements [run.Progress].
func (s *standing) Step(text string) { s.next.Step(text) }

// Begin implements [run.Progress].
func (s *standing) Begin(p run.Plan) { s.next.Begin(p) }

// Event implements [run.Progress].
func (s *standing) Event(e measure.Event) { s.next.Event(e) }

// Interval implements [run.Progress]: it counts what clients were told about their writes.
func (s *standing) Interval(d measure.Dims, iv *measure.Interval) {
	s.next.Interval(d, iv)
	if iv.Phase == load.PhaseLoad { // what it writes is in no ledger
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

// onlyReads says whether a class of operations is one that never writes, by the names that workloads have for those.
func onlyReads(class string) bool {
	first, _, _ := strings.Cut(class, "-")
	return slices.Contains([]string{"read", "scan", "find", "list", "count", "get", "search"}, first)
}

// loadBegan and loadEnded say that faults may come, and that none comes any more.
func (s *standing) loadBegan() {
	s.change(func() { s.measured = true; s.stage(record.StageLoad) })
}

func (s *standing) loadEnded() {
	s.change(func() { s.measured = false })
}

// healed says that a fault was undone; left is how many are in place still.
func (s *standing) healed(left int) {
	s.change(func() {
		switch {
		case left > 0:
			s.stage(record.StageBroken)
		case s.measured:
			s.stage(record.StageHealed)
		}
	})
}
