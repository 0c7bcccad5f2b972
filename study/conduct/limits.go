package conduct

import (
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// What a deadline allows where the specification names none. They only have to tell a trial that hangs from one that
// takes its time, so they are generous.
const (
	deadlineFloor = 5 * time.Minute        // opening, counting, dropping, closing
	slowestFill   = 1 << 20                // bytes per second of the load phase
	slowestWorker = 100 * time.Millisecond // per operation, for runs that operations end
)

// deadline is how long a trial may take.
func (c *conductor) deadline(asked spec.Run) time.Duration {
	if d := c.spec.Deadline.Std(); d > 0 {
		return d
	}
	fill := time.Duration(float64(c.dataBytes(asked)) / slowestFill * float64(time.Second))
	return deadlineFloor + fill + 2*length(asked.Load) + asked.Load.Timeout.Std()
}

// length is how long the load of a run takes at most, if nothing hangs.
func length(l spec.Load) time.Duration {
	measured := l.Duration.Std()
	if measured == 0 && l.Operations == 0 {
		for _, s := range l.Stages {
			measured += s.Duration.Std()
		}
	}
	if measured == 0 && l.Operations > 0 {
		switch {
		case l.Rate > 0:
			measured = time.Duration(float64(l.Operations) / float64(l.Rate) * float64(time.Second))
		case l.Pace > 0 && l.Workers > 0:
			measured = time.Duration(float64(l.Operations) / float64(l.Pace) / float64(l.Workers) * float64(time.Second))
		default:
			measured = time.Duration(float64(l.Operations) / float64(max(1, l.Workers)) * float64(slowestWorker))
		}
	}
	return l.Warmup.Std() + measured
}

// withinBudget stops the study when the next trial would go beyond the time that it may take.
func (c *conductor) withinBudget(t record.Trial) error {
	budget := c.spec.Budget.Std()
	if budget == 0 || c.pace.session == 0 {
		return nil // the plan was held against it, and a session that does nothing gets nowhere
	}
	used := c.o.Clock.Now().Sub(c.began)
	next, _ := c.pace.expect(t.Configuration)
	if used+next+c.spec.Settle.Std() <= budget {
		return nil
	}
	left := figure.Plural(len(c.todo), "trial")
	if t.Kind == record.TrialSearch {
		left = "its procedures" // only they know how many trials they need
	}
	return &Stop{Reason: BudgetUsed, Text: fmt.Sprintf(
		"the budget of %s is used up with %s left to do; go on with plimsoll study resume %s, which begins a new budget",
		figure.Duration(budget), left, c.o.Dir)}
}

// The room that the record of a trial takes at most, far on the safe side.
const (
	recordRoom   = 16 << 20
	intervalRoom = 32 << 10 // per second
	dataFactor   = 2        // of documents in an embedded store: compaction writes them twice
)

// room makes sure that there is space for the next trial.
func (c *conductor) room(asked spec.Run) error {
	need := int64(recordRoom + intervalRoom*length(asked.Load).Seconds())
	if err := c.roomIn(c.o.Dir, need); err != nil {
		return err
	}
	target, err := run.ParseTarget(asked.Target)
	if err != nil || target.Kind != "embedded" || c.data[c.placeOf(asked)].ready {
		return nil
	}
	return c.roomIn(target.Dir, need+max(0, dataFactor*c.dataBytes(asked)-held(target.Dir)))
}

// held is how many bytes the files in a directory have: what a trial that was killed has loaded needs no further room.
func held(dir string) int64 {
	var bytes int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // what cannot be read counts as nothing
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

func (c *conductor) roomIn(dir string, need int64) error {
	free, known := c.o.Free(dir)
	if !known || free >= uint64(need) {
		return nil
	}
	return &Stop{Reason: DiskFull, Text: fmt.Sprintf(
		"only %s are free in %s, and the next trial may need %s: free space, then go on with plimsoll study resume %s",
		figure.Bytes(int64(min(free, math.MaxInt64))), dir, figure.Bytes(need), c.o.Dir)}
}

// dataBytes is how much a run loads, 0 where its target keeps nothing or the plan does not know it.
func (c *conductor) dataBytes(asked spec.Run) int64 {
	for _, set := range c.plan.Estimate.DataSets {
		if set.Target == store.Redact(asked.Target) && (set.Database == "" || set.Database == asked.Database) &&
			set.Records == int64(asked.Workload.Records) {
			return set.Bytes
		}
	}
	return 0
}

// pace is how long trials took.
type pace struct {
	configs map[string]*tally
	all     tally
	session int // trials of this session
}

type tally struct {
	seconds float64
	n       int
	filled  float64 // of the seconds, those that went into loading data
	fills   int     // trials that did so
}

func newPace() pace { return pace{configs: map[string]*tally{}} }

// learn takes a finished trial into account.
func (p *pace) learn(t record.Trial) {
	if t.Kind == record.TrialSearch {
		return
	}
	if p.configs[t.Configuration] == nil {
		p.configs[t.Configuration] = &tally{}
	}
	for _, x := range []*tally{p.configs[t.Configuration], &p.all} {
		x.seconds += t.Seconds
		x.n++
	}
}

// expect says how long the next trial of a configuration will take, judged by those before or else by all others.
func (p *pace) expect(configuration string) (time.Duration, bool) {
	x := p.configs[configuration]
	if x == nil {
		x = &p.all
	}
	if x.n == 0 {
		return 0, false
	}
	return time.Duration(x.seconds / float64(x.n) * float64(time.Second)), true
}

// learnFill takes into account how long a trial loaded data.
func (p *pace) learnFill(t record.Trial, seconds float64) {
	x := p.configs[t.Configuration]
	if x == nil || t.Kind == record.TrialSearch || seconds <= 0 {
		return
	}
	for _, x := range []*tally{x, &p.all} {
		x.filled += seconds
		x.fills++
	}
}

// measured is how many seconds a trial of a configuration takes besides loading data, judged by those before, by all others,
// or else by how long its load is.
func (p *pace) measured(configuration string, load time.Duration) float64 {
	x := p.configs[configuration]
	if x == nil {
		x = &p.all
	}
	if x.n == 0 {
		return load.Seconds()
	}
	return max(0, x.seconds-x.filled) / float64(x.n)
}

// fill is how many seconds loading data took where it was done, for a configuration or "" for all.
func (p *pace) fill(configuration string) float64 {
	x := p.configs[configuration]
	if x == nil {
		x = &p.all
	}
	return x.filled / float64(max(1, x.fills))
}

// fillsAlways reports whether each trial of a configuration loaded its data anew.
func (p *pace) fillsAlways(configuration string) bool {
	x := p.configs[configuration]
	return x != nil && x.fills > 1 && x.fills == x.n
}

// standing says where the study is when a trial begins.
func (c *conductor) standing(t record.Trial, j job) Standing {
	s := Standing{Trial: t, Procedure: j.procedure}
	if j.procedure != "" {
		return s
	}
	s.Total, s.Done = c.total, c.total-len(c.todo)
	for i := len(c.study.Trials) - 1; i >= 0 && s.Blocks == 0; i-- {
		s.Blocks = c.study.Trials[i].Block // canaries have none
	}
	for _, left := range c.todo {
		d, known := c.pace.expect(left.Configuration)
		if !known {
			s.Left = 0
			break
		}
		s.Left += d + c.spec.Settle.Std()
	}
	if s.Left > 0 {
		s.Left += c.redeployLeft()
	}
	return s
}
