// Package run performs one run from its specification to its record: it opens the target, loads the data, makes the
// load, judges the result and writes the record.
//
// Commands, studies and drills call [Execute]. Nothing here prints, or reads flags or the environment.
package run

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Stage is the part of a run in which an error occurred.
type Stage string

const (
	Specification Stage = "specification" // the run cannot be done as specified; the target was not touched
	Reaching      Stage = "target"        // the target is unreachable or refused the connection
	Recording     Stage = "record"        // the record cannot be written
	Filling       Stage = "load phase"    // the data could not be loaded
	Measuring     Stage = "measure"       // the load failed
)

// Error says in which stage a run failed. The text is that of Err.
type Error struct {
	Stage Stage
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func at(s Stage, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Error{Stage: s, Err: err}
}

// Progress receives the progress of a run, from one goroutine at a time. Its methods must return soon.
type Progress interface {
	// Step announces what is done next, in one line.
	Step(text string)
	// Begin announces a load: the load phase or the measured run.
	Begin(Plan)
	// Interval and Event pass on what the load reports.
	Interval(d measure.Dims, iv *measure.Interval)
	Event(e measure.Event)
}

// Plan is what is known of a load before it begins.
type Plan struct {
	Phase      string        // [load.PhaseLoad] or [load.PhaseMeasure]
	Warmup     time.Duration // before the measured time
	Duration   time.Duration // of the measured time, 0 if operations end it
	Operations int64         // that end it, 0 if the duration does; documents in the load phase
	Offered    float64       // operations per second of an open loop, 0 otherwise
}

// Options are what a run needs besides its specification.
type Options struct {
	Tool     record.Tool      // the program that runs, for the record
	Dir      string           // where the record goes; it is made and must be empty or absent
	Progress Progress         // nil for none
	Abort    <-chan struct{}  // closed: end at once
	Ceiling  *Ceiling         // nil without a calibration of this machine
	Now      func() time.Time // wall clock
	Command  []string         // the command line, for the record
	Key      *mac.Key         // marks the record as this user's; nil for a run that cannot be resumed

	// Workload, if it is not nil, makes the workload. It may wrap the workload of the specification, which open makes.
	Workload func(open func() (workload.Workload, error)) (workload.Workload, error)
	// Observe, if it is not nil, returns the observer of each worker of this process, as in [load.Config].
	Observe func(worker int) load.Observer
	// Teller, if it is not nil, is called once with a function that adds an event to the timeline of the record. Any
	// goroutine may call that function during the run.
	Teller func(tell func(kind, text string, data map[string]string))

	// Getenv reads the environment, for credentials that the specification names; nil without.
	Getenv func(string) string
	// Lab finds the lab of a target lab:NAME; nil without labs.
	Lab func(ctx context.Context, name string) (Lab, error)
	// Service starts the REST service of runs with via: rest; nil without services.
	Service func(ctx context.Context, b ServiceBrief) (*Service, error)
	// Number is the number of the run ([Number]); 0 for one of the time.
	Number uint64
	// Ready is called when everything is open. The measured load starts when it returns. Nil for at once.
	Ready func(context.Context) error
	// Loaded, if it is not nil, is the result of a load phase that was done before.
	Loaded *record.FillResult
	// Share, if it is not nil, makes this process one of several that share the load.
	Share *Share
	// Others, if it is not nil, makes the load in other processes. This process does the rest.
	Others *Clients
}

// Share is what one of several processes does of a load.
type Share struct {
	Client, Clients int       // number of this process, from 0, and of all
	Whole           spec.Load // of all processes together
	Turns           workload.Turns
	Address         string // of the target lab, with credentials, as the parent process found it; "" for other targets
	// Remote says that this process is on another machine than the coordinator of the run, so it samples its machine.
	Remote bool
	// Foreign says that the specification came from another machine. Files that it names are not opened here.
	Foreign bool
}

// share returns the share of this process, that of one process without one.
func (o *Options) share() Share {
	if o.Share == nil {
		return Share{Clients: 1}
	}
	return *o.Share
}

// Clients are other processes that make the load. If the target is a lab, address is its address with credentials.
type Clients struct {
	// Load runs the measured load. The sum of the intervals goes to sink. Errors are as in [load.Run].
	Load func(ctx context.Context, address string, sink Sink) (ClientsReport, error)
	// Fill loads a range of the records and adds up the reports. If it is nil, this process loads them; otherwise it
	// prepares the collections and counts.
	Fill func(ctx context.Context, address string, p FillRange, sink Sink) (load.FillReport, error)
	// Processes returns the PIDs of those on this machine; nil for none.
	Processes func() []int
}

// processes is Processes, nil without clients.
func (t *Clients) processes() func() []int {
	if t == nil {
		return nil
	}
	return t.Processes
}

// fills reports whether other processes load the records.
func (t *Clients) fills() bool { return t != nil && t.Fill != nil }

// Sink receives the reports of a load.
type Sink interface {
	measure.Sink
	// Dims are the dimensions of the intervals.
	Dims() measure.Dims
	// Clients is called with the load processes, before Begin.
	Clients(list []record.ClientShare)
	// Begin is called with run time zero, before intervals and events.
	Begin(started time.Time) error
}

// ClientsReport is the result of [Clients.Load], beside what its sink received.
type ClientsReport struct {
	Report   load.Report
	Clients  []record.ClientShare
	Findings []measure.Finding // reasons to doubt the result that only the clients know
	// Remote says that the clients are on other machines. Their findings judge them.
	Remote  bool
	EndedBy string // what ended the load, where only the clients know
	// Services are the use of the REST services of all clients together, by phase.
	Services map[string]record.ServiceResult
}

// Execute performs the run of a complete specification ([spec.Run.Complete]). It returns the record, also beside an
// error after measuring has begun.
func Execute(ctx context.Context, asked spec.Run, opts Options) (*record.Run, error) {
	r, err := prepare(ctx, asked, opts)
	if err != nil {
		return nil, at(Specification, err)
	}
	if _, held := record.Holder(opts.Dir); !held { // record.Hold below names the holder
		if err := record.Vacant(opts.Dir); err != nil { // before the target is touched
			return nil, at(Recording, err)
		}
	}
	if err := r.openMetrics(ctx); err != nil {
		return nil, at(Specification, orEnded(ctx, err))
	}
	if err := r.openTarget(ctx); err != nil {
		var wrong *store.AddressError
		if errors.As(err, &wrong) {
			return nil, at(Specification, err)
		}
		return nil, at(Reaching, orEnded(ctx, err))
	}
	defer r.closeTarget()
	defer r.watch.Stop()
	release, err := record.Hold(opts.Dir)
	if err != nil {
		return nil, at(Recording, err)
	}
	defer release()
	if err := r.openRecord(); err != nil {
		return nil, at(Recording, err)
	}
	return r.finish(r.perform(ctx))
}

// runner performs one run.
type runner struct {
	spec             spec.Run
	opts             Options
	target           Target
	workload         workload.Workload
	collection       workload.Workload // the collection that is loaded
	collectionNumber int
	config           load.Config
	store            store.Store
	info             store.Info
	trip             time.Duration // the shortest round trip to the target, 0 if unknown
	writer           *record.RunWriter
	cores            float64       // that this process may use
	started          time.Time     // wall clock, when the record was opened
	begun            time.Time     // run time zero of the record: when its first load began
	shift            time.Duration // from begun to the begin of the last load
	fill             *record.FillResult
	report           load.Report
	others           ClientsReport
	watch            *observe.Watch // of the machine, the lab and the servers during the load
	metrics          []observe.Source
	unseen           int64      // events that the watch discarded
	lab              *labTarget // nil for other targets
	service          *service   // nil without --via
	reserve          *reserve   // nil if there is no space
}

// prepare checks everything that can be checked without touching the target.
func prepare(ctx context.Context, asked spec.Run, opts Options) (*runner, error) {
	if opts.Progress == nil {
		opts.Progress = silent{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	target, err := ParseTarget(asked.Target)
	if err != nil {
		return nil, err
	}
	if err := checkService(target, asked); err != nil {
		return nil, err
	}
	r := &runner{spec: asked, opts: opts, target: target, started: opts.Now(), watch: observe.New(ctx)}
	if !opts.Others.fills() { // the workers are on this machine
		if err := checkMemory(asked, int64(record.NewEnvironment(nil).MemoryBytes)); err != nil {
			return nil, err
		}
	}
	if asked.Load.Clients > 1 && opts.Others == nil {
		return nil, errors.New("load.clients: this command runs with one client only")
	}
	open := func() (workload.Workload, error) { return openWorkload(asked, opts, r.started) }
	if opts.Workload != nil {
		r.workload, err = opts.Workload(open)
	} else {
		r.workload, err = open()
	}
	if err != nil {
		return nil, err
	}
	if target.Kind == "embedded" {
		if err := checkEngine(r.workload, engineEmbedded); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(CheckObjectives(asked, r.workload.Classes()), checkConfirmed(r.workload, asked),
		checkWorkers(r.workload, asked)); err != nil {
		return nil, err
	}
	if opts.Teller != nil {
		opts.Teller(r.watch.Tell)
	}
	if r.config, err = loadConfig(asked, opts, r.workload); err != nil {
		return nil, err
	}
	return r, nil
}

// firstWithin is how long a load waits for the first samples of what is observed.
const firstWithin = time.Second

func (r *runner) perform(ctx context.Context) error {
	if err := r.loadData(ctx); err != nil {
		return at(Filling, orEnded(ctx, err))
	}
	if r.spec.LoadPhase.Only || ctx.Err() != nil {
		return ctx.Err()
	}
	c := r.config
	r.opts.Progress.Begin(Plan{
		Phase: load.PhaseMeasure, Warmup: c.Warmup, Duration: c.Duration, Operations: c.Operations, Offered: c.Rate,
	})
	r.describeLab(ctx)
	r.describeSharding(ctx)
	r.watch.First(ctx, firstWithin)
	r.discardSamples()
	var err error
	if sink := r.sink(c.Scheduled()); r.opts.Others == nil {
		r.report, err = load.Run(ctx, c, r.workload, r.store, sink)
	} else {
		r.others, err = r.opts.Others.Load(ctx, r.labAddress(), sink)
		r.report = r.others.Report
		r.writer.SetClients(r.others.Clients)
		for phase, use := range r.others.Services {
			r.writer.AddService(phase, time.Duration(use.CPUSeconds*1e9), use.MemoryBytes)
		}
	}
	if err == nil && r.report.Interrupted {
		err = context.Canceled
	}
	return at(Measuring, err)
}

// labAddress is the address of the lab that is the target, with credentials, "" if there is none.
func (r *runner) labAddress() string {
	if r.lab == nil {
		return ""
	}
	return r.lab.address.URI
}

// sink passes the reports of a load that begins now to the record and to the progress.
func (r *runner) sink(scheduled bool) *tee {
	_, _, _ = r.service.use() // its use until now belongs to no phase
	return &tee{run: r, dims: load.Dims(r.workload, scheduled)}
}

// tee is the [Sink] of one load. Each load has a clock of its own; its first report sets the clock of the record.
type tee struct {
	run   *runner
	dims  measure.Dims
	begun bool
}

func (t *tee) begin(at time.Duration) error {
	if t.begun {
		return nil
	}
	return t.Begin(t.run.opts.Now().Add(-at))
}

func (t *tee) Begin(started time.Time) error {
	t.begun = true
	if t.run.begun.IsZero() {
		if time.Until(started) >= 0 {
			t.run.discardSamples()
		}
		t.run.begun = started
	}
	t.run.shift = started.Sub(t.run.begun)
	return t.run.writer.Begin(t.dims, started)
}

func (t *tee) Dims() measure.Dims { return t.dims }

func (t *tee) Clients(list []record.ClientShare) { t.run.writer.SetClients(list) }

func (t *tee) Interval(iv *measure.Interval) error {
	if err := t.begin(iv.End); err != nil {
		return err
	}
	t.run.opts.Progress.Interval(t.dims, iv)
	if cpu, memory, ok := t.run.service.use(); ok {
		t.run.writer.AddService(iv.Phase, cpu, memory)
	}
	if err := t.recordWatched(); err != nil {
		return err
	}
	return t.run.writer.Interval(iv)
}

func (t *tee) Event(e measure.Event) error {
	if err := t.begin(e.At); err != nil {
		return err
	}
	t.run.opts.Progress.Event(e)
	return t.run.writer.Event(e)
}

type silent struct{}

func (silent) Step(string)                              {}
func (silent) Begin(Plan)                               {}
func (silent) Interval(measure.Dims, *measure.Interval) {}
func (silent) Event(measure.Event)                      {}

// interrupted reports whether err is a request to end. A passed deadline is not: the target did not answer.
func interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// orEnded returns err, or context.Canceled if ctx ended: calls that are cut short fail with various errors.
func orEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && err != nil {
		return context.Canceled
	}
	return err
}

// openTarget opens and identifies the target, with a message if that takes long.
func (r *runner) openTarget(ctx context.Context) (err error) {
	r.opts.Progress.Step("opening " + r.target.String())
	TellIfSlow(func() {
		r.opts.Progress.Step(fmt.Sprintf("%s has not answered yet; retrying for up to %v (the longer of --timeout and %v)", r.target,
			spec.Duration(max(r.config.Timeout, openWithin)), spec.Duration(openWithin)))
	}, func() { err = r.reachTarget(ctx) })
	return err
}

func (r *runner) reachTarget(ctx context.Context) error {
	if r.target.Kind == "lab" {
		if err := r.findLab(ctx); err != nil {
			return err
		}
	}
	err := r.checkWays()
	if err != nil {
		return err
	}
	if r.spec.Via == spec.ViaREST && !r.opts.Others.fills() { // else the agents start it, which send all of the load
		r.store, err = r.openService(ctx)
	} else if r.store, err = r.target.Open(ctx, r.spec.Client, r.storeConfig(), r.watch.Tell); r.emptiesFull(err) {
		r.store, err = r.reopenEmpty(ctx)
	}
	if err != nil {
		r.store = nil
		return err
	}
	if r.info, err = r.identify(ctx, r.store); err != nil {
		r.closeTarget()
		return fmt.Errorf("cannot identify %s: %w", r.target, err)
	}
	if err := checkEngine(r.workload, engineOf(r.target, r.info)); err != nil {
		r.closeTarget()
		return at(Specification, err)
	}
	if c, ok := r.store.(server.Commander); ok {
		r.trip = roundTrip(ctx, c)
	}
	return nil
}

// pings is how many round trips are measured, and pingAtMost the time after which no further one begins.
const (
	pings      = 10
	pingAtMost = time.Second
)

// roundTrip returns the shortest round trip to a server, 0 if it does not answer.
func roundTrip(ctx context.Context, c server.Commander) (shortest time.Duration) {
	for began, n := time.Now(), 0; n < pings && time.Since(began) < pingAtMost; n++ {
		sent := time.Now()
		if _, err := server.Query(ctx, c, bson.D{{Key: "ping", Value: 1}}); err != nil {
			return 0
		}
		if trip := time.Since(sent); n == 0 || trip < shortest {
			shortest = trip
		}
	}
	return shortest
}

// reopenEmpty removes the data of an embedded store whose disk is full, and opens it.
func (r *runner) reopenEmpty(ctx context.Context) (store.Store, error) {
	if err := embedded.RemoveFull(r.target.Dir, r.workload.Collections()); err != nil {
		return nil, err
	}
	r.opts.Progress.Step("removed the data of " + r.target.String() + ", because its disk is full")
	return r.target.Open(ctx, r.spec.Client, r.storeConfig(), r.watch.Tell)
}

// emptiesFull reports whether removing the data, which are to be dropped, repairs a full embedded store. Dropping its
// collections would need space.
func (r *runner) emptiesFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) && r.target.Kind == "embedded" && r.spec.LoadPhase.Drop
}

func (r *runner) storeConfig() store.Config {
	return store.Config{
		Database: r.spec.Database,
		Concern:  Concern(r.spec.Durability),
		Sessions: r.sessions(),
		Timeout:  r.config.Timeout,
		Times:    r.spec.Workload.Name == spec.WorkloadTransactions,
	}
}

func (r *runner) sessions() int {
	loading := int(r.spec.LoadPhase.Parallel)
	if r.opts.Others != nil {
		return loading
	}
	return max(r.config.MaxWorkers(), loading)
}

// closeTarget closes the target. A client with abandoned operations may never return, and after an abort nobody waits.
// The result is already written, so closing cannot change it.
func (r *runner) closeTarget() {
	r.lab.close()
	defer r.service.close()
	if r.store == nil {
		return
	}
	closed := make(chan struct{})
	go func(st store.Store) { _ = st.Close(); close(closed) }(r.store)
	r.store = nil
	select {
	case <-closed:
	case <-r.opts.Abort:
	case <-time.After(max(10*time.Second, r.config.Timeout)):
	}
}
