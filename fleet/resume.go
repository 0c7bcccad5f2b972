package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// CoordinatorDir is the directory below a record that keeps what a coordinator needs to be started again. It is there
// while a run of agents goes on.
const CoordinatorDir = "coordinator"

// stateFile is written when the start of the load is decided.
const stateFile = "fleet.json"

// state is what a coordinator that is started again must know besides the record.
type state struct {
	Started int64         `json:"started"` // the coordinator's clock, in nanoseconds of the Unix epoch
	Number  uint64        `json:"number"`
	Clients []stateClient `json:"clients"`
	Missed  []string      `json:"missed,omitempty"` // clients that were lost in the load phase
}

type stateClient struct {
	Facts       Facts `json:"facts"`
	Offset      int64 `json:"offset_ns"`
	Uncertainty int64 `json:"uncertainty_ns"`
}

// Resumer is a placer whose agents continue while there is no coordinator.
type Resumer interface {
	// Resume returns links to the agents of an unfinished run, in the order of their numbers. Each delivers all frames of
	// its agent, from the first one. Agents that are gone are links without further frames.
	Resume(ctx context.Context) ([]Link, error)
}

// keepState writes the state. Agents that end with this process need none.
func (t *coordinator) keepState() error {
	if _, ok := t.place.(Resumer); !ok {
		return nil
	}
	s := state{Started: t.started.UnixNano(), Number: t.opts.Number, Missed: t.missed}
	for _, m := range t.members {
		offset, uncertainty := m.clock.offset()
		s.Clients = append(s.Clients, stateClient{m.facts, int64(offset), int64(uncertainty)})
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	dir := filepath.Join(t.opts.Dir, CoordinatorDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return replace.File(filepath.Join(dir, stateFile), text, 0o600, false)
}

// Unfinished returns the record of a coordinator that was killed, from its directory. A resumption that was killed
// itself may have left it partly in the directory for earlier records: the rest is moved there too.
func Unfinished(dir string) (*record.Run, error) {
	in := dir
	if record.Vacant(dir) == nil && asides(dir) > 0 {
		var err error
		if in, err = setAside(dir); err != nil {
			return nil, &run.Error{Stage: run.Recording, Err: err}
		}
	}
	old, err := record.OpenRun(in)
	switch {
	case err != nil:
		return nil, wrong(err)
	case old.Status != record.Killed:
		return nil, wrong(fmt.Errorf("%s is %s: only a run whose coordinator was killed can be resumed", dir, old.Status))
	}
	return old, nil
}

// Resume finishes the run of a coordinator that was killed, while its agents continued. Its record is in the directory
// of the options, and is moved to a directory killed-1, killed-2, … below it. The new record has all that the agents
// measured. given is the specification that the run began with. Without it, the recorded one is used if this user wrote
// it (o.Key). target is the address of the target, because records have no passwords.
func Resume(ctx context.Context, target string, given *spec.Run, o run.Options, f Options) (*record.Run, error) {
	old, err := Unfinished(o.Dir)
	if err != nil {
		return nil, err
	}
	asked, err := specOf(old, given, o.Key)
	if err != nil {
		return nil, wrong(err)
	}
	if pid, held := record.Holder(o.Dir); held {
		return nil, wrong(fmt.Errorf("%s: process %d still writes it", o.Dir, pid))
	}
	text, err := safeopen.ReadFile(o.Dir, CoordinatorDir+"/"+stateFile, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, wrong(fmt.Errorf("%s: its load had not started, or its agents ended with it: start the run again", o.Dir))
	}
	if err != nil {
		return nil, wrong(err)
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, wrong(fmt.Errorf("%s is damaged: %w", filepath.Join(o.Dir, CoordinatorDir, stateFile), err))
	}
	asked.Target, asked.Out = target, ""
	place, err := f.Places(asked.Load.Place)
	if err != nil {
		return nil, wrong(err)
	}
	resumer, ok := place.(Resumer)
	if !ok {
		return nil, wrong(fmt.Errorf("the agents of place %q ended with their coordinator: start the run again", asked.Load.Place))
	}
	if _, err := setAside(o.Dir); err != nil {
		return nil, &run.Error{Stage: run.Recording, Err: err}
	}
	away := awayFinding(old, time.Now())
	o.Number, o.Loaded = s.Number, old.Fill
	o.Others = &run.Clients{Load: func(ctx context.Context, _ string, sink run.Sink) (run.ClientsReport, error) {
		t := newCoordinator(asked, o, f, place, &pids{})
		t.spec.Load.Clients, t.missed = spec.Count(len(s.Clients)), s.Missed
		t.begin(sink)
		w, err := t.rejoin(ctx, resumer, s)
		w.Findings = append(w.Findings, away)
		return w, err
	}}
	return run.Execute(ctx, asked, o)
}

// specOf returns the specification to continue with. It says which files are opened, and where agents are.
func specOf(old *record.Run, given *spec.Run, key *mac.Key) (spec.Run, error) {
	switch {
	case given != nil && !old.Of(*given):
		return spec.Run{}, errors.New("the specification is not that of the unfinished run. Give the file, the flags and the target that " +
			"the run began with")
	case given != nil:
		return *given, nil
	case !old.Own(key):
		return spec.Run{}, errors.New("the record was not written by this user with this PLIMSOLL_HOME, or was changed, so what its " +
			"specification names is not used. Give the run's file and flags again (--file FILE)")
	}
	return old.Specification, nil
}

// maxState bounds the file: 10,000 clients of some hundred bytes.
const maxState = 16 << 20

// setAside moves the record of a killed coordinator to a directory below it, its main file first. If that was done and
// not completed, it is completed.
func setAside(dir string) (to string, err error) {
	n := asides(dir)
	if record.Vacant(dir) != nil {
		to = aside(dir, n+1)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return "", err
		}
		if err := os.Rename(filepath.Join(dir, record.RunFile), filepath.Join(to, record.RunFile)); err != nil {
			return "", err
		}
		n++
	}
	to = aside(dir, n)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if aside, _ := filepath.Match("killed-*", e.Name()); aside || e.Name() == CoordinatorDir || e.Name() == record.LockFile {
			continue
		}
		if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return "", err
		}
	}
	return to, nil
}

func aside(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("killed-%d", n)) }

// asides is how many records were set aside.
func asides(dir string) (n int) {
	for record.Vacant(aside(dir, n+1)) != nil {
		n++
	}
	return n
}

// rejoin receives what the agents of a started load measured, from its beginning to its end.
func (t *coordinator) rejoin(ctx context.Context, place Resumer, s state) (run.ClientsReport, error) {
	t.step("connecting to the agents of the run")
	links, err := place.Resume(ctx)
	if err != nil {
		return run.ClientsReport{}, err
	}
	t.started = time.Unix(0, s.Started)
	for _, link := range links {
		i := len(t.members)
		if i == len(s.Clients) || link.Facts().Name != s.Clients[i].Facts.Name {
			link.Break() // its agent was lost in the load phase
			continue
		}
		c := s.Clients[i]
		m := &member{Link: link, number: i, facts: c.Facts, ready: true, loading: true,
			budgets: newBudgets(t.started)}
		m.clock.first = &answer{offset: time.Duration(c.Offset), trip: 2 * time.Duration(c.Uncertainty)}
		t.members = append(t.members, m)
		go follow(m, t.reports)
	}
	if len(t.members) != len(s.Clients) {
		return run.ClientsReport{}, fmt.Errorf("the server has %d of the %d agents of the unfinished run: start the run again",
			len(t.members), len(s.Clients))
	}
	if t.share(); t.err != nil {
		return run.ClientsReport{}, t.err
	}
	t.sink.Clients(t.shares())
	if err := t.sink.Begin(t.started); err != nil {
		return run.ClientsReport{}, err
	}
	return t.until(ctx)
}

// awayFinding says what the coordinator did not see.
func awayFinding(old *record.Run, now time.Time) measure.Finding {
	from := old.Started
	if p := old.Phase(load.PhaseMeasure); p != nil {
		from = from.Add(time.Duration(p.Seconds * float64(time.Second)))
	}
	value := float64(now.Sub(from))
	return measure.Finding{ID: "coordinator-away", Severity: measure.Warning, Value: &value, Unit: measure.UnitTime,
		Text: fmt.Sprintf("the coordinator was killed, and resumed %v later. The agents sent all that they measured. Samples of "+
			"servers, lab and this machine are missing for that time. Earlier samples are in killed-1, … below this record.", time.Duration(value).Round(time.Second))}
}
