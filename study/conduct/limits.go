package conduct

import (
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/study"
)

// What the deadline allows if the specification has none. It must only find trials that hang, so this is generous.
const (
	deadlineFloor = 5 * time.Minute        // opening, counting, dropping, closing
	slowestFill   = 1 << 20                // bytes per second of the load phase
	slowestWorker = 100 * time.Millisecond // per operation, for runs that operations end
)

// deadline returns how long a trial may take.
func (s *session) deadline(asked spec.Run) time.Duration {
	if d := s.spec.Deadline.Std(); d > 0 {
		return d
	}
	fill := time.Duration(float64(dataBytes(s.plan, asked)) / slowestFill * float64(time.Second))
	return deadlineFloor + fill + 2*length(asked.Load) + asked.Load.Timeout.Std()
}

// length returns the longest time of a load, if nothing hangs.
func length(l spec.Load) time.Duration {
	rate := study.Offered(l)
	if math.IsInf(rate, 1) {
		rate = float64(max(1, l.Workers)) / slowestWorker.Seconds()
	}
	if l.Duration > 0 {
		l.Operations = 0 // they may end it earlier
	}
	return time.Duration(study.Length(l, rate) * float64(time.Second))
}

// The most space that the record of a trial takes, with a large reserve.
const (
	recordRoom   = 16 << 20
	intervalRoom = 32 << 10 // per second
	dataFactor   = 2        // of documents in an embedded store: compaction writes them twice
)

// room checks that there is space for the next trial.
func (s *session) room(asked spec.Run) error {
	need := int64(recordRoom + intervalRoom*length(asked.Load).Seconds())
	if err := s.roomIn(s.o.Dir, need); err != nil {
		return err
	}
	target, err := run.ParseTarget(asked.Target)
	if err != nil || target.Kind != "embedded" || s.data.places[placeOf(asked)].ready {
		return nil
	}
	return s.roomIn(target.Dir, need+max(0, dataFactor*dataBytes(s.plan, asked)-held(target.Dir)))
}

// held returns the size of the files in a directory. Data of a trial that was killed need no further space.
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

func (s *session) roomIn(dir string, need int64) error {
	free, known := s.o.Free(dir)
	if !known || free >= uint64(need) {
		return nil
	}
	return &campaign.Stop{Reason: campaign.DiskFull, Text: fmt.Sprintf(
		"only %s are free in %s, but the next trial may need %s. Free space, then continue with: plimsoll study resume %s",
		figure.Bytes(int64(min(free, math.MaxInt64))), dir, figure.Bytes(need), s.o.Dir)}
}

// dataBytes returns the size of the data of a run, 0 if its target stores nothing or the plan does not know it.
func dataBytes(plan *study.Plan, asked spec.Run) int64 {
	for _, set := range plan.Estimate.DataSets {
		if set.Target == store.Redact(asked.Target) && (set.Database == "" || set.Database == asked.Database) &&
			set.Records == int64(asked.Workload.Records) {
			return set.Bytes
		}
	}
	return 0
}
