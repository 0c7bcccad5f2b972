package drill

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/run/fleet"
	"github.com/plimsoll-bench/plimsoll/server"
)

// round is one repetition under way.
type round struct {
	c       *conductor
	r       *record.DrillRound
	lab     Lab // nil for a target that is none
	uri     string
	before  record.Lab
	seq     int64 // of the last event of the lab before
	shift   int64 // from run time zero of the record to that of the measured load, whose clock the operations have
	used    resources
	number  uint32   // of the run, in each write
	books   books    // of this process, and in the end of all load processes
	parts   []course // what the operations did, by class and shard
	courses []course // by class, the first one being all of them
	seeds   *seeds
	tell    func(kind, text string, data map[string]string)
	breaks  *breaker
	changed bool
	// changedIn are the sets of which another member is the primary than before.
	changedIn map[string]bool
	// zero is run time zero of the measured load of several processes. perClient is what each of them did, nil for one
	// that is gone, and gone says which are.
	zero      time.Time
	perClient [][]course
	gone      []string
	// gonePrimaries are the moments at which the primary went from the view of a client that only looks.
	gonePrimaries []record.LabEvent
	// sees is how a client that only looks takes the target.
	sees seen
	// identity is who the target says that it is, and concerns what it applies where nobody asks.
	identity server.Identity
	concerns server.Concerns
	// redundant is when everything was as before while the load still went on, zero if that was not seen.
	redundant time.Time
	// rebuilt are the volumes that were rebuilt, notRebuilt says why one could not be.
	rebuilt    []string
	notRebuilt string
	// dead says that the lab is gone with its supervisor: there is nobody to be read.
	dead error
}

// round does one repetition. An error is one after which no other is tried.
func (c *conductor) round(ctx context.Context, r *record.DrillRound) error {
	x := &round{c: c, r: r, tell: func(string, string, map[string]string) {}}
	defer x.close()
	if err := x.prepare(ctx); err != nil {
		r.Status, r.Problem, r.Reasons = record.Failed, err.Error(), []string{err.Error()}
		return err
	}
	result, err := x.load(ctx)
	x.breaks.wait()
	r.Faults = x.breaks.faults()
	if result == nil {
		r.Status, r.Problem, r.Reasons = record.Failed, fmt.Sprint(err), []string{fmt.Sprint(err)}
		return err
	}
	x.look(result)
	after, stop := x.untilAborted(ctx) // what was written is audited also when nobody wants more load
	defer stop()
	redundant := x.recover(after)
	x.timeline(after, redundant)
	problem := x.audit(after)
	x.breaks.healRest(context.WithoutCancel(ctx))
	r.Faults = x.breaks.faults()
	x.settle(ctx, result, err, problems(append(x.gone, problem)...))
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

// untilAborted is a context that goes on when ctx ends, until the drill is asked to end at once.
func (x *round) untilAborted(ctx context.Context) (context.Context, context.CancelFunc) {
	after, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-x.c.o.Run.Abort:
			stop()
		case <-after.Done():
		}
	}()
	return after, stop
}

func (x *round) close() {
	if x.seeds != nil {
		x.seeds.close()
	}
	if x.lab != nil {
		_ = x.lab.Close() // it only forgets how the lab is reached
	}
}

// prepare finds the target, looks at it, and writes the seed records.
func (x *round) prepare(ctx context.Context) error {
	spec := x.c.spec.Run
	t, err := run.ParseTarget(spec.Target)
	if err != nil {
		return &run.Error{Stage: run.Specification, Err: err}
	}
	x.uri = t.URI
	if t.Kind == "lab" {
		if err := x.openLab(ctx, t.Lab); err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
	}
	if x.uri != "" {
		x.c.writer.AddSecrets(x.uri)
		x.askTarget(ctx)
		placed, err := x.spreadSeeds(ctx)
		if err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
		if x.seeds, err = writeSeeds(ctx, x.uri, spec.Database, placed); err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
		x.r.Seeds = x.seeds.count()
	}
	x.number = newRunNumber()
	x.books.name = spec.Workload.Name
	if r := x.c.spec.Reads; r != nil {
		x.books.share = float64(r.Share)
	}
	x.books.ledger = ledger.New(ledger.Options{Run: x.number, Seed: spec.Workload.Seed, Writers: max(1, int(spec.Load.Workers))})
	x.breaks = newBreaker(x)
	return nil
}

// newRunNumber is a number that no other round has, as far as chance allows.
func newRunNumber() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint32(b[:])
}

// openLab finds the lab and writes down how it stands.
func (x *round) openLab(ctx context.Context, name string) (err error) {
	if x.c.o.Open == nil {
		return errors.New("labs cannot be loaded from here")
	}
	if x.lab, err = x.c.o.Open(ctx, name); err != nil {
		return err
	}
	if x.before, err = x.lab.Describe(ctx, true); err != nil {
		return err
	}
	if n := len(x.before.Faults); n > 0 {
		return fmt.Errorf("something is broken in the lab %s already (%s %s): heal it first (plimsoll lab heal %s --all)", name,
			x.before.Faults[0].Action, x.before.Faults[0].Target, name)
	}
	a, err := x.lab.Address(ctx, x.c.spec.Run.Durability)
	if err != nil {
		return err
	}
	x.uri, x.r.Level, x.r.Means = a.URI, a.Level, a.Means
	x.r.Members = withData(x.before)
	if events, err := x.lab.EventsSince(ctx, 0); err == nil && len(events) > 0 {
		x.seq = events[len(events)-1].Seq
	}
	x.used = x.resources(ctx)
	return nil
}

// withData is how many members of a lab hold data.
func withData(l record.Lab) int {
	n := 0
	for _, m := range l.Members {
		if holdsData(m) {
			n++
		}
	}
	return n
}

func holdsData(m record.LabMember) bool {
	return m.Kind == "postgres" || m.Kind == "mongod" && m.Role != "arbiter" && m.Role != "config"
}

// resources are what all hosts of a lab used since they were made.
type resources struct {
	cpu     float64 // seconds
	written int64   // bytes
}

// resources are what all hosts of the lab used until now, nothing where nobody says.
func (x *round) resources(ctx context.Context) (sum resources) {
	list, err := x.lab.Usage(ctx)
	if err != nil {
		return sum
	}
	for _, u := range list {
		sum.cpu += u.CPUSeconds
		sum.written += u.WriteBytes
	}
	return sum
}

// load makes the load, in which faults happen at their times.
func (x *round) load(ctx context.Context) (*record.Run, error) {
	o := x.c.o.Run
	spec := x.c.spec.Run
	o.Dir, o.Progress = filepath.Join(x.c.o.Dir, filepath.FromSlash(x.r.Record)), x.c.o.Progress
	o.Lab = func(ctx context.Context, name string) (run.Lab, error) { return x.c.o.Open(ctx, name) }
	o.Workload = x.books.workload
	o.Teller = func(tell func(string, string, map[string]string)) { x.tell = tell }
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var guard sync.WaitGroup
	unwatch := func() {}
	begin := func(at time.Time) {
		x.zero = at
		unwatch = x.watchPrimary(ctx)
		x.c.stands.loadBegan()
		x.breaks.begin(ctx, at)
		if x.lab != nil {
			guard.Go(func() { x.guard(watching, x.breaks.allHealed()) })
		}
	}
	o.Ready = func(context.Context) error { x.placement(); begin(time.Now()); return nil }
	result, err := fleet.ExecuteWith(ctx, spec, o, x.c.o.Launch, x.duty(begin))
	unwatch()
	x.c.stands.loadEnded()
	x.breaks.loadEnded()
	stop()
	guard.Wait()
	return result, err
}

// look takes the effects from the times of the operations.
func (x *round) look(result *record.Run) {
	r := x.r
	r.WindowStart, r.WindowEnd = result.Course.WindowStart, result.Course.WindowEnd
	x.shift = r.WindowStart - int64(x.c.spec.Run.Load.Warmup)
	if x.clients() > 1 { // their common window begins with the last of them
		x.shift = int64(x.zero.Sub(result.Started))
	}
	x.breaks.clock = x.clock()
	r.Faults = x.breaks.faults()
	x.gather(result)
	r.ClientCPUSeconds, r.ServiceCPUSeconds = usedBeside(result)
	if !broke(r.Faults) || x.courses == nil {
		return
	}
	x.struckShards()
	x.effects(-1, "", x.courses)
	for client, list := range x.perClient {
		x.effects(client, "", byClass(list))
	}
	for i, s := range r.Shards {
		x.effects(-1, s.Name, byClass(onShard(x.parts, i)))
	}
}

// usedBeside is the processor time of the load processes and of the REST service between them and the target, in all phases: the
// documents that were loaded first are among the work of the servers too.
func usedBeside(result *record.Run) (client, service float64) {
	for i := range result.Phases {
		p := &result.Phases[i]
		client += p.Client.CPUSeconds
		if p.Service != nil {
			service += p.Service.CPUSeconds
		}
	}
	return client, service
}

// clock is that of the record. It is counted from the beginning of the load as this process saw it, whose monotonic clock goes on
// evenly when the wall clock of the machine is set; a record knows the wall clock only.
func (x *round) clock() clock { return clock{x.zero.Add(-time.Duration(x.shift))} }

// effects says what the faults meant for the operations of one client, or of all, on one shard, or on all: for all operations, for
// reads and writes where there are both, and for each class.
func (x *round) effects(client int, shard string, list []course) {
	r := x.r
	f := r.Faults[0]
	w := window{from: r.WindowStart - x.shift, fault: f.Injected - x.shift, until: r.WindowEnd - x.shift, done: f.Done - x.shift}
	if f.Healed > 0 {
		w.healed = f.Healed - x.shift
	}
	if len(x.c.spec.Run.Load.Stages) > 0 {
		w.baseline = w.fault - baselineLength
	}
	add := func(c course, kind string) {
		e := effectOf(c, w)
		if e.OutageFrom >= 0 {
			e.OutageFrom += x.shift
		}
		e.Client, e.Kind, e.Shard = client, kind, shard
		r.Effects = append(r.Effects, e)
	}
	add(list[0], "")
	if reads, writes := ofKind(list, false), ofKind(list, true); len(reads.slices) > 0 && len(writes.slices) > 0 {
		add(reads, record.KindReads)
		add(writes, record.KindWrites)
	}
	if shard != "" {
		return // its classes would be more figures than anybody reads
	}
	for _, c := range list[1:] {
		add(c, "")
	}
}

// settle judges the round.
func (x *round) settle(ctx context.Context, result *record.Run, err error, problem string) {
	r := x.r
	r.Status = record.Complete
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		r.Status = record.Interrupted
	case err != nil:
		r.Status, r.Problem = record.Failed, err.Error()
		problem = err.Error()
	}
	x.remains()
	x.expect()
	stayed := x.stayed(x.breaks.mustChange())
	r.Verdict, r.Reasons = judge(evidence{round: r, acknowledged: x.acknowledgedBefore(), stayed: stayed, sharded: x.sharded(), collection: x.unspread(), planned: len(x.c.spec.Faults),
		problem: problem})
	if ids := doubts(result.Validity); ids != "" {
		x.c.find("run-invalid", measure.Warning, "the rates of round %d are doubtful for other reasons than what was broken (%s): plimsoll show %s", r.Number, ids,
			filepath.Join(x.c.o.Dir, r.Record))
	}
}

// doubts names the findings that make a run invalid, but for those that a drill brings about.
func doubts(all []measure.Finding) string {
	var ids []string
	for _, f := range all {
		if f.Severity == measure.Invalid && f.ID != "outage" && f.ID != "failures" {
			ids = append(ids, f.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// expect decides what had to hold: what was asked for or, where it says nothing of losses, what the level promises.
func (x *round) expect() {
	r := x.r
	if x.c.spec.Expect != nil {
		r.Expect = *x.c.spec.Expect
	}
	if r.Expect.Loss != "" {
		r.Promise = "the drill says so"
		return
	}
	r.Expect.Loss, r.Promise = x.circumstances().promise()
}

// circumstances are what the promise of the round's writes depends on.
func (x *round) circumstances() circumstances {
	c := circumstances{
		level: x.r.Level, concern: x.concern(), topology: x.identity.Topology(), majorityJournal: x.concerns.MajorityJournal, changed: x.changed,
		hidden: x.lab == nil && (x.sees == seesRouters || x.identity.Kind == server.FerretDB),
	}
	c.struck, c.members = x.struckMost()
	if x.identity.Kind == server.FerretDB && !x.c.spec.Run.Durability.Says() {
		c.topology = gateway
	}
	return c
}

// acknowledgedBefore is how many writes were acknowledged in the second before the first fault.
func (x *round) acknowledgedBefore() int64 {
	if !broke(x.r.Faults) || x.courses == nil {
		return -1
	}
	at := x.r.Faults[0].Injected - x.shift
	return count(ofKind(x.courses, true), at-int64(time.Second), at)
}

// silent is the progress of a drill that nobody watches.
type silent struct{}

func (silent) Step(string)                              {}
func (silent) Begin(run.Plan)                           {}
func (silent) Interval(measure.Dims, *measure.Interval) {}
func (silent) Event(measure.Event)                      {}
func (silent) Note(string)                              {}
