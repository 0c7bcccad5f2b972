package conduct

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// endDecided skips the remaining blocks of a study until decided that has its verdicts, or no time for another block.
// The verdicts are those of [judge.Study] at its looks, so a study that is resumed decides alike. Each session runs at
// least one block.
func (s *session) endDecided() error {
	if !s.spec.UntilDecided || !s.queue.beforeBlock(s.Result.Trials) {
		return nil
	}
	next := slices.IndexFunc(s.queue.todo, func(t record.Trial) bool { return t.Kind == record.TrialCompared })
	done := s.queue.turn(s.queue.todo[next]) - 1
	if judge.IsLook(s.Result) {
		judge.Study(s.Result)
		if judge.Decided(s.Result) {
			return s.skip(done, fmt.Sprintf("decided after %s", figure.Plural(done, "block")))
		}
		if err := s.Write(); err != nil { // the level of this look is used
			return err
		}
	}
	block := time.Duration(s.secondsOf(s.queue.within(done+1)) * float64(time.Second))
	if s.Ended == 0 || s.Budget.Lasts(s.o.Clock.Now(), block) {
		return nil
	}
	return s.skip(done, fmt.Sprintf("no time for another block within %v", s.spec.Budget))
}
