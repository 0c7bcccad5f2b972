package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// EventLost is the kind of the event that a client was lost.
const EventLost = "client-lost"

const (
	// silentAtMost is how many seconds a client may send no message. Its beat sends one every second, so a silent client
	// does not run.
	silentAtMost = 30
	// idleAtMost is how many seconds the run waits for a client that only says that it is alive: until it is ready, during
	// the load phase, and until it has handed over its results.
	idleAtMost = 300
	// abortAtMost is the time limit of clients after an abort.
	abortAtMost = 3 * time.Second
	// aheadAtLeast and aheadAtMost are how long before its start a load is started. A busy machine takes its time.
	aheadAtLeast = 500 * time.Millisecond
	aheadAtMost  = 10 * time.Second
	// explainAtMost is the time limit of what a placer knows of lost clients.
	explainAtMost = 10 * time.Second
)

// coordinator has the clients of one run. One goroutine calls its methods.
type coordinator struct {
	spec    spec.Run
	opts    run.Options
	fleet   Options
	place   Placer
	sink    run.Sink
	reports chan report
	members []*member
	merger  *merger
	living  *pids
	address string // of the lab that is loaded, with credentials
	turns   []workload.Turns
	pings   int64
	seconds int // since the clients were placed

	filling  time.Time       // when the current part of the load phase began; zero outside of the load phase
	missed   []string        // clients that were lost in the load phase, with the reasons
	started  time.Time       // run time zero, once it is decided
	stopping bool            // the clients were stopped
	lost     bool            // … because one of them was lost
	passed   map[string]bool // events of all clients that were passed on
	err      error           // the first one that ends the run
}

// member is one client.
type member struct {
	Link
	number     int
	facts      Facts
	ready      bool
	gone       bool
	silent     int // seconds without a message
	idle       int // seconds for which the run waited for it, and it did nothing
	busy       int // seconds for which it has loaded its records, or its load has run
	clock      clock
	skew       time.Duration
	handedOver []byte  // of a hand-over that is not complete
	kept       int64   // bytes of chunks and hand-overs
	confirmed  int64   // of them, those that it knows of
	filled     *filled // of its last order to load records
	records    int64   // of this order
	// loading says that its messages are those of a load phase whose result is known.
	loading bool
	done    *result
	status  string // of a client that is not complete
	begun   bool   // its start is known
	budgets budgets
	// expelled says that it sent what it must not. What it sends since is dropped.
	expelled bool
	why      string
	lostAt   time.Duration // run time of its loss, while the others went on
}

// report is a message of a client, or the end of its link.
type report struct {
	member *member
	message
	excess string // what of it is more than the client may send
	gone   bool
	why    error // how it failed, if it is gone
}

func newCoordinator(asked spec.Run, o run.Options, f Options, place Placer, living *pids) *coordinator {
	asked.Load.Clients = max(1, asked.Load.Clients)
	return &coordinator{spec: asked, opts: o, fleet: f, place: place, reports: make(chan report, int(asked.Load.Clients)),
		living: living}
}

// begin makes the clients ready for the next load, whose sum goes to sink.
func (t *coordinator) begin(sink run.Sink) {
	t.sink, t.passed = sink, map[string]bool{}
	t.merger = newMerger(sink.Dims(), load.DefaultInterval, int(t.spec.Load.Clients), sink.Interval)
}

// load starts the clients, starts their load when all are ready, and receives their messages until the last one has
// ended. It is [run.Clients.Load].
func (t *coordinator) load(ctx context.Context, address string, sink run.Sink) (run.ClientsReport, error) {
	t.begin(sink)
	t.address = address
	t.startAll(ctx)
	return t.until(ctx)
}

// until receives the messages of the clients until the last one has ended.
func (t *coordinator) until(ctx context.Context) (run.ClientsReport, error) {
	t.await(ctx, t.alive)
	if t.err == nil && !t.started.IsZero() {
		t.fail(t.sink.Event(measure.Event{At: time.Since(t.started), Kind: load.EventEnd}))
	}
	return t.result(ctx)
}

// await receives messages of the clients for as long as the clients are busy. It passes on that the run ends.
func (t *coordinator) await(ctx context.Context, busy func() bool) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	ended, abort := ctx.Done(), t.opts.Abort
	var impatient <-chan time.Time
	for busy() {
		select {
		case r := <-t.reports:
			t.receive(r)
		case <-ticker.C:
			t.watch()
		case <-ended:
			ended = nil
			if errors.Is(context.Cause(ctx), load.ErrEnough) {
				t.each(func(m *member) { m.command(command{Enough: true}) })
			} else {
				t.stop()
			}
		case <-abort:
			abort = nil
			t.each(func(m *member) { m.command(command{Abort: true}) })
			impatient = time.After(abortAtMost)
		case <-impatient:
			t.each(func(m *member) { m.Break() })
		}
	}
}

// placeAll places the clients, unless they are there, and divides the load among them.
func (t *coordinator) placeAll(ctx context.Context) {
	if t.members != nil {
		return
	}
	n := int(t.spec.Load.Clients)
	t.step(fmt.Sprintf("starting %d load clients", n))
	links, err := t.place.Place(ctx, n, t.step)
	if err != nil {
		t.fail(err)
		return
	}
	for i, link := range links {
		m := &member{Link: link, number: i, facts: link.Facts(), budgets: newBudgets(time.Now())}
		t.members = append(t.members, m)
		go follow(m, t.reports)
		if m.facts.Local {
			t.living.add(m.facts.PID)
		}
		if m.facts.Protocol != Protocol {
			t.fail(fmt.Errorf("the agent %s on %s speaks protocol %d (plimsoll %s), and this plimsoll speaks %d: install the same release "+
				"on both", m.facts.Name, m.facts.Host, m.facts.Protocol, m.facts.Version, Protocol))
		}
	}
	if t.share(); t.err != nil {
		t.each(func(m *member) { m.Close() })
	}
}

// share divides the load among the clients.
func (t *coordinator) share() {
	var facts []Facts
	for _, m := range t.members {
		facts = append(facts, m.facts)
	}
	turns, err := turnsOf(t.spec.Load, facts)
	if err != nil {
		t.fail(wrong(err))
		return
	}
	t.turns = turns
}

func (t *coordinator) startAll(ctx context.Context) {
	duty, brief, err := t.fleet.Duty.order()
	if err != nil {
		t.fail(err)
		return
	}
	if t.placeAll(ctx); t.err != nil {
		return
	}
	for i, m := range t.members {
		o := t.order(i)
		o.Duty, o.Brief = duty, brief
		if m.facts.Local {
			o.Dir = filepath.Join(t.opts.Dir, filepath.FromSlash(recordOf(i)))
		}
		m.idle = 0
		m.command(command{Order: &o})
	}
}

func (t *coordinator) step(text string) {
	if t.opts.Progress != nil {
		t.opts.Progress.Step(text)
	}
}

// order is what the orders of a client have in common.
func (t *coordinator) order(client int) order {
	turns := t.turns[client]
	return order{
		Spec: divide(t.spec, turns), Tool: t.opts.Tool, Command: t.opts.Command, Address: t.address,
		Client: client, Clients: len(t.members), Whole: t.spec.Load, Turns: turns, Number: t.opts.Number,
	}
}

// follow passes on the messages of a client until its link ends.
func follow(m *member, reports chan<- report) {
	for {
		frame, err := m.Receive()
		var said message
		if err == nil {
			if len(frame) > mostFrame {
				err = fmt.Errorf("it sent a message of %d MiB, more than an agent may", len(frame)>>20)
			} else {
				err = json.Unmarshal(frame, &said)
			}
			if err == nil {
				next := report{member: m, message: said}
				if !m.facts.Local {
					next.excess = m.budgets.excess(&said, len(frame))
				}
				reports <- next
				continue
			}
			m.Break()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		reports <- report{member: m, gone: true, why: err}
		return
	}
}

// command sends a command. follow notices if the client has ended.
func (m *member) command(c command) {
	frame, err := json.Marshal(c)
	if err != nil {
		panic(err) // commands are made of types that always can be written
	}
	m.Send(frame)
}

// recordOf is the directory of the record of a client below that of the run.
func recordOf(client int) string { return path.Join(record.ClientsDir, fmt.Sprintf("%02d", client)) }

func (t *coordinator) alive() bool {
	return slices.ContainsFunc(t.members, func(m *member) bool { return !m.gone })
}

func (t *coordinator) each(do func(*member)) {
	for _, m := range t.members {
		if !m.gone {
			do(m)
		}
	}
}

// stop ends the load after the current operations.
func (t *coordinator) stop() {
	t.stopping = true
	t.each(func(m *member) { m.command(command{Stop: true}) })
}

// fail ends the run with an error.
func (t *coordinator) fail(err error) {
	if err == nil || t.err != nil {
		return
	}
	t.err = err
	t.stop()
}

func (t *coordinator) receive(r report) {
	m := r.member
	m.silent = 0
	if r.works() && !(t.started.IsZero() && t.filling.IsZero()) && m.done == nil {
		m.idle = 0
	}
	switch {
	case r.gone:
		t.leave(m, r.why)
	case m.expelled:
	case r.excess != "":
		t.expel(m, r.excess)
	default:
		if err := t.take(m, &r.message); err != nil {
			t.expel(m, err.Error())
		}
	}
}

// take takes a message of a client. An error is one of the client.
func (t *coordinator) take(m *member, r *message) error {
	m.loading = m.loading && !r.Ready
	if r.Began != 0 && !m.loading && !m.begun && !t.started.IsZero() {
		offset, _ := m.clock.offset()
		m.begun, m.skew = true, time.Unix(0, r.Began).Add(-offset).Sub(t.started.Round(0))
		if err := checkTime(m.skew.Abs(), t.elapsed()); err != nil {
			return err
		}
		t.merger.began(m.number, max(0, m.skew))
	}
	switch {
	case m.loading:
	case r.Ready && !m.ready:
		m.ready = true
		if m.facts.Local {
			t.startLoad()
		} else {
			t.ping(m)
		}
	case r.Pong != nil:
		t.pong(m, *r.Pong)
	case r.Chunk != nil:
		return t.keepChunk(m, r.Chunk)
	case r.HandOver != nil:
		return t.receiveHandOver(m, r.HandOver)
	case r.Interval != nil:
		return t.addInterval(m, r.Interval)
	case r.Event != nil:
		if err := checkEvent(r.Event, t.elapsed()); err != nil {
			return err
		}
		t.pass(m, *r.Event)
	case r.Filled != nil && m.filled == nil && !t.filling.IsZero():
		t.finishFill(m, r.Filled)
	case r.Done != nil && m.done == nil:
		tidyResult(r.Done)
		t.finish(m, r.Done)
	}
	return nil
}

func (t *coordinator) addInterval(m *member, p *record.PackedInterval) error {
	if err := checkInterval(p, t.elapsed()); err != nil {
		return err
	}
	iv, err := p.Unpack(t.merger.dims)
	if err != nil {
		return fmt.Errorf("it sent an interval that does not fit: %w", err)
	}
	if len(iv.Classes) != len(t.merger.dims.Classes) {
		return fmt.Errorf("it sent an interval with %d operation classes, not %d", len(iv.Classes), len(t.merger.dims.Classes))
	}
	t.fail(t.merger.add(m.number, iv))
	return nil
}

// ping asks a client for its clock.
func (t *coordinator) ping(m *member) {
	t.pings++
	m.clock.ping(t.pings, time.Now())
	m.command(command{Ping: t.pings})
}

func (t *coordinator) pong(m *member, p pong) {
	m.clock.pong(p, time.Now())
	switch {
	case !t.started.IsZero():
	case len(m.clock.answers) < pingsAtStart:
		t.ping(m)
	default:
		t.startLoad()
	}
}

// timed reports whether a client is ready and its clock is known.
func (m *member) timed() bool {
	return m.ready && (m.facts.Local || len(m.clock.answers) >= pingsAtStart)
}

// startLoad sends all clients the same start time, slightly ahead and each by its own clock, once all are ready.
func (t *coordinator) startLoad() {
	if t.stopping || slices.ContainsFunc(t.members, func(m *member) bool { return !m.timed() }) {
		return
	}
	ahead := aheadAtLeast + min(time.Duration(len(t.members))*5*time.Millisecond, 2*time.Second)
	for _, m := range t.members {
		m.clock.settle()
		ahead = max(ahead, min(4*m.clock.best().trip, aheadAtMost)) // no agent delays the others for longer
	}
	t.started = time.Now().Add(ahead)
	t.each(func(m *member) { m.busy = 0 })
	if t.fleet.Duty.Started != nil {
		t.fleet.Duty.Started(t.started)
	}
	t.sink.Clients(t.shares())
	t.fail(t.sink.Begin(t.started))
	t.fail(t.keepState())
	t.each(func(m *member) {
		offset, _ := m.clock.offset()
		m.command(command{Start: t.started.Add(offset).UnixNano()})
	})
}

// finish receives the result of a client.
func (t *coordinator) finish(m *member, r *result) {
	m.done = r
	m.Close()
	err := r.err()
	if err == nil || t.stopping && r.Stopped {
		t.fail(t.merger.end(m.number))
		return
	}
	failed := &run.Error{Stage: r.Stage, Err: fmt.Errorf("%s: %w", name(m.number), err)}
	if t.started.IsZero() {
		m.status, m.why = "failed", r.Error
		t.fail(failed)
		return
	}
	if r.Stopped {
		t.lose(m, "lost", "it was ended on its machine, by a signal or an eviction")
		return
	}
	t.lose(m, "failed", r.Error)
	if r.Full {
		t.fail(failed) // unlike a lower load, an incomplete record is no result
	}
}

// leave notes the end of the process of a client.
func (t *coordinator) leave(m *member, failed error) {
	why := ""
	if failed != nil {
		why = failed.Error()
	}
	if errors.Is(failed, syscall.ENOSPC) { // the disk of this process: no client can be heard any more
		t.fail(&run.Error{Stage: run.Recording, Err: failed})
	}
	m.gone = true
	t.living.remove(m.facts.PID)
	m.Close()
	if m.done != nil || m.status != "" && m.status != "lost" {
		return
	}
	if m.why != "" {
		why = m.why // it was killed for a reason
	}
	if why == "" {
		why = "it ended without results"
	}
	if t.started.IsZero() {
		m.status, m.why = "lost", why
		if t.takesOver(m) {
			return
		}
		t.fail(fmt.Errorf("%s of %d ended before the load began: %s", name(m.number), len(t.members), why))
		return
	}
	t.lose(m, "lost", why)
}

// lose notes the loss of a client. The load of the others is not the specified one. They go on without it, or end too
// if the load must be as specified.
func (t *coordinator) lose(m *member, status, why string) {
	m.status, m.why = status, why
	if closed(t.opts.Abort) { // the run ends anyway
		t.fail(t.merger.end(m.number))
		return
	}
	t.fail(t.sink.Event(measure.Event{
		At: time.Since(t.started), Kind: EventLost, Text: name(m.number) + " " + status + ": " + why,
		Data: map[string]string{"client": strconv.Itoa(m.number)},
	}))
	others := slices.ContainsFunc(t.members, func(o *member) bool { return o.status == "" }) // they run, or have completed
	if !t.fleet.Strict && !t.stopping && others {
		// One that was lost before the start missed all of it.
		m.lostAt = cmp.Or(t.merger.until(m.number), max(1, time.Since(t.started)))
		t.fail(t.merger.lose(m.number))
		return
	}
	t.fail(t.merger.end(m.number))
	t.lost = t.lost || !t.stopping
	t.stop()
}

// watch counts the seconds without a message of each client. It counts its own ticks, so that a suspended machine does
// not lose its clients.
func (t *coordinator) watch() {
	t.seconds++
	behind := len(t.reports) > 0 // messages wait for this process, which may be why a client seems silent
	t.each(func(m *member) {
		if t.seconds%pingEvery == 0 && !m.facts.Local && !t.started.IsZero() {
			t.ping(m)
		}
		if behind {
			return
		}
		m.silent++
		if m.idle++; !t.awaits(m) {
			m.idle = 0
		}
		if !t.finished(m) {
			m.busy++
		}
		switch {
		case m.silent > silentAtMost:
			m.why = fmt.Sprintf("it did not respond for %d s", silentAtMost)
		case m.idle > idleAtMost:
			m.why = fmt.Sprintf("%s is alive, but %s for %d s", named(m.number, m.facts), t.lacks(m), idleAtMost)
		case !t.finished(m) && m.busy > t.busyAtMost(m):
			m.why = fmt.Sprintf("%s has not finished its part after %d s, but still sends messages", named(m.number, m.facts), m.busy)
		default:
			return
		}
		m.Break()
	})
}

// awaits reports whether the run waits for a client.
func (t *coordinator) awaits(m *member) bool {
	if !t.filling.IsZero() {
		return m.filled == nil
	}
	return !t.started.IsZero() || !m.timed()
}

// lacks says what an idle client has not done.
func (t *coordinator) lacks(m *member) string {
	switch {
	case !t.filling.IsZero():
		return "loaded no records"
	case t.started.IsZero():
		return "was not ready"
	case m.done == nil:
		return "reported nothing"
	}
	return "did not end"
}

// pass passes on an event of a client. Events of all clients at the same time are passed once.
func (t *coordinator) pass(m *member, e measure.Event) {
	switch e.Kind {
	case load.EventEnd:
		return
	case load.EventPhase, load.EventStage, load.EventInterrupted, load.EventAborted:
		key := e.Kind + " " + e.Text
		if t.passed[key] {
			return
		}
		t.passed[key] = true
	default:
		e.Data = maps.Clone(e.Data)
		if e.Data == nil {
			e.Data = map[string]string{}
		}
		e.Data["client"] = strconv.Itoa(m.number)
	}
	t.fail(t.sink.Event(e))
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (t *coordinator) result(ctx context.Context) (run.ClientsReport, error) {
	// There is nothing to resume any more. A coordinator of several runs has its directory elsewhere.
	_ = os.Remove(filepath.Join(t.opts.Dir, CoordinatorDir, stateFile))
	_ = os.Remove(filepath.Join(t.opts.Dir, CoordinatorDir))
	t.explainLosses()
	w := run.ClientsReport{Report: t.report(), Clients: t.shares(), Remote: t.remote(), Services: t.services()}
	if t.err != nil {
		return w, t.err
	}
	w.Report.Aborted = closed(t.opts.Abort)
	enough := errors.Is(context.Cause(ctx), load.ErrEnough)
	w.Report.Interrupted = !w.Report.Aborted && ctx.Err() != nil && !enough && !t.lost && !t.complete()
	if t.lost {
		w.EndedBy = EventLost
		if !t.merger.window.open {
			return w, errors.New(t.losses() + ", before all clients had measured anything")
		}
	}
	if !t.merger.window.open && !w.Report.Interrupted && !w.Report.Aborted {
		return w, fmt.Errorf("there was no second in which all clients ran (they began up to %v apart). Use fewer clients, or a longer "+
			"run", t.spread().Round(time.Millisecond))
	}
	w.Findings = t.findings()
	return w, nil
}

// explainLosses adds what the placer knows of lost clients.
func (t *coordinator) explainLosses() {
	by, ok := t.place.(Explainer)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), explainAtMost)
	defer cancel()
	for _, m := range t.members {
		if m.status != "lost" {
			continue
		}
		if why := by.Explain(ctx, m.facts.Name); why != "" {
			m.why += ": " + why
		}
	}
}

// complete reports whether all clients completed.
func (t *coordinator) complete() bool {
	return !slices.ContainsFunc(t.members, func(m *member) bool {
		return m.done == nil || m.done.Run == nil || m.done.Run.Status != record.Complete
	})
}
