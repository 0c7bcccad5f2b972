package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

// Number is the number of a run that begins at t, for Options.Number.
func Number(t time.Time) uint64 { return workload.RunNumber(t) }

// openWorkload makes the workload of a specification. By default its run number is the time, so that the inserted
// documents differ from those of all earlier runs.
func openWorkload(asked spec.Run, opts Options, now time.Time) (workload.Workload, error) {
	number := opts.Number
	if number == 0 {
		number = workload.RunNumber(now)
	}
	asking := workload.Spec{
		Name:       asked.Workload.Name,
		Text:       asked.Workload.Text(),
		Mode:       asked.Workload.Mode,
		Records:    int64(asked.Workload.Records),
		Operations: int64(asked.Load.Operations),
		Seed:       asked.Workload.Seed,
		Run:        number,
		Client:     opts.share().Client,
		Clients:    opts.share().Clients,
		Params:     asked.Workload.Params,
		Open:       openHistogram,
	}
	if opts.share().Foreign {
		asking.Open = func(name string) (io.ReadCloser, error) {
			return nil, fmt.Errorf("the agent refuses to open %s for a run of another machine", name)
		}
	}
	if asked.Load.Replay != "" {
		w, err := openReplay(asked.Load.Replay, asking, opts.share().Foreign)
		if err != nil {
			return nil, err
		}
		return w, checkDatabases(w, asked)
	}
	w, err := own.Open(asking)
	if err == nil {
		err = checkDatabases(w, asked)
	}
	switch {
	case err != nil:
		return nil, err
	case opts.share().Clients > 1:
		return workload.Share(w, opts.share().Turns, int(Streams(opts.share().Whole)))
	case asked.Load.Clients > 1: // this process makes no load; check that the load can be shared
		_, err = workload.Share(w, workload.Turns{Cycle: 2, Mine: []int{0}}, 2)
	}
	return w, err
}

// openHistogram opens a histogram of YCSB, which a workload may read more than once.
func openHistogram(name string) (io.ReadCloser, error) {
	return safeopen.OpenLimited(name, safeopen.MaxDocument)
}

// openReplay opens a recording, which an agent refuses to do for a run of another machine.
func openReplay(name string, asking workload.Spec, foreign bool) (workload.Workload, error) {
	w, err := recorded.OpenReplay(func() (io.ReadCloser, error) {
		if foreign {
			return asking.Open(name)
		}
		return safeopen.OpenLimited(name, recorded.MaxRecording)
	}, asking)
	if err != nil {
		return nil, fmt.Errorf("cannot replay %s: %w", name, err)
	}
	return w, nil
}

// loadConfig translates the load of a specification. w is its workload, or nil if only the rest is checked.
func loadConfig(asked spec.Run, opts Options, w workload.Workload) (load.Config, error) {
	l := asked.Load
	if opts.share().Clients > 1 {
		l = opts.share().Whole
	}
	c := load.Config{
		Turns:   opts.share().Turns,
		Workers: int(l.Workers), Rate: float64(l.Rate), Pace: float64(l.Pace),
		DropAfter: l.DropAfter.Std(), Warmup: l.Warmup.Std(), Duration: l.Duration.Std(),
		Operations: int64(l.Operations), Timeout: l.Timeout.Std(), Abort: opts.Abort, Ready: opts.Ready,
		Observe: opts.Observe,
	}
	// Each client has its own arrivals, so that together they are as independent as those of one schedule. Multiples of
	// 2^64 divided by the golden ratio are far from each other.
	c.Seed = cmp.Or(l.Seed, asked.Workload.Seed) + uint64(opts.share().Client)*0x9e3779b97f4a7c15
	switch l.Arrivals {
	case "constant":
		c.Arrivals = load.Constant
	case "poisson", "":
		c.Arrivals = load.Poisson
	default:
		return c, unknown("arrivals", l.Arrivals, "poisson", "constant")
	}
	switch l.Late {
	case "queue", "":
		c.Late = load.Queue
	case "drop":
		c.Late = load.Drop
	default:
		return c, unknown("late", l.Late, "queue", "drop")
	}
	for _, s := range l.Stages {
		c.Stages = append(c.Stages, load.Stage{
			Duration: s.Duration.Std(), Rate: float64(s.Rate), Workers: int(s.Workers), Step: s.Step,
		})
	}
	if asked.Load.Replay != "" {
		if w == nil {
			return c, nil
		}
		if err := replayConfig(&c, asked.Load, w); err != nil {
			return c, err
		}
	}
	return c, c.Check()
}

// replayConfig sets the times of a recording. Without a duration, each operation is sent once.
func replayConfig(c *load.Config, asked spec.Load, w workload.Workload) error {
	timed, ok := w.(workload.Timed)
	if !ok {
		return errors.New("load.replay: operations of a recording cannot be wrapped by a ledger. Use a workload file in drills")
	}
	if c.Rate == 0 {
		c.Rate = timed.Rate() * cmp.Or(asked.Speed, 1)
	}
	rate := c.Rate
	c.Times = func() workload.Times { return timed.Times(rate) }
	if c.Duration == 0 {
		c.Duration = max(timed.Length(c.Rate)-c.Warmup, time.Millisecond)
	}
	return nil
}

func unknown(what, value string, known ...string) error {
	return fmt.Errorf("unknown %s %q%s (known: %v)", what, value, nearest.DidYouMean(value, known), known)
}

// Concern is the concern of every request for a durability level and its overrides.
func Concern(d spec.Durability) store.Concern {
	d = d.Effective()
	return store.Concern{W: d.W, Journal: d.Journal, Read: d.ReadConcern, Preference: d.ReadPreference, Causal: d.Causal}
}
