package conduct

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/run"
)

// nextNumber is the number of the run of a trial that begins now. What a run inserts is kept apart from what others
// inserted by its number, which is the time; a clock that was set back must not give one twice.
func (c *conductor) nextNumber(now time.Time) uint64 {
	if c.number == 0 {
		c.number = c.highestNumber()
	}
	c.number = max(run.Number(now), c.number+1)
	return c.number
}

// highestNumber is one that no trial of earlier sessions exceeds: each was that of the time at which it began, or one
// more than that of the trial before it.
func (c *conductor) highestNumber() uint64 {
	highest, trials := uint64(0), uint64(0)
	for _, t := range c.study.Trials {
		if t.Started != nil {
			highest = max(highest, run.Number(*t.Started))
			trials++
		}
	}
	return highest + trials
}
