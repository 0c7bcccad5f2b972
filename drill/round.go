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
	drill   *campaign
	result  *record.DrillRound
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
func (c *campaign) round(ctx context.Context, out *record.DrillRound) error {
	r := &round{drill: c, result: out, tell: func(string, string, map[string]string) {}}
	defer r.close()
	if err := r.prepare(ctx); err != nil {
		out.Status, out.Problem, out.Reasons = record.Failed, err.Error(), []string{err.Error()}
		return err
	}
	result, err := r.load(ctx)
	r.breaks.wait()
	out.Faults = r.breaks.faults()
	if result == nil {
		out.Status, out.Problem, out.Reasons = record.Failed, fmt.Sprint(err), []string{fmt.Sprint(err)}
		return err
	}
	r.measureEffects(result)
	after, stop := r.untilAborted(ctx) // what was written is audited also when nobody wants more load
	defer stop()
	redundant := r.recover(after)
	r.timeline(after, redundant)
	problem := r.audit(after)
	r.breaks.healRest(context.WithoutCancel(ctx))
	out.Faults = r.breaks.faults()
	r.conclude(ctx, result, err, problems(append(r.gone, problem)...))
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

// untilAborted is a context that goes on when ctx ends, until the drill is asked to end at once.
func (r *round) untilAborted(ctx context.Context) (context.Context, context.CancelFunc) {
	after, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-r.drill.o.Run.Abort:
			stop()
		case <-after.Done():
		}
	}()
	return after, stop
}

func (r *round) close() {
	if r.seeds != nil {
		r.seeds.close()
	}
	if r.lab != nil {
		_ = r.lab.Close() // it only forgets how the lab is reached
	}
}

// prepare finds the target, looks at it, and writes the seed records.
func (r *round) prepare(ctx context.Context) error {
	spec := r.drill.spec.Run
	t, err := run.ParseTarget(spec.Target)
	if err != nil {
		return &run.Error{Stage: run.Specification, Err: err}
	}
	r.uri = t.URI
	if t.Kind == "lab" {
		if err := r.openLab(ctx, t.Lab); err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
	}
	if r.uri != "" {
		r.drill.writer.AddSecrets(r.uri)
		r.askTarget(ctx)
		placed, err := r.spreadSeeds(ctx)
		if err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
		if r.seeds, err = writeSeeds(ctx, r.uri, spec.Database, placed); err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
		r.result.Seeds = r.seeds.count()
	}
	r.number = newRunNumber()
	r.books.name = spec.Workload.Name
	if asked := r.drill.spec.Reads; asked != nil {
		r.books.share = float64(asked.Share)
	}
	r.books.ledger = ledger.New(ledger.Options{Run: r.number, Seed: spec.Workload.Seed,
		Writers: max(1, int(spec.Load.Workers))})
	r.breaks = newBreaker(r)
	return nil
}

// newRunNumber is a number that no other round has, as far as chance allows.
func newRunNumber() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint32(b[:])
}

// openLab finds the lab and writes down how it stands.
func (r *round) openLab(ctx context.Context, name string) (err error) {
	if r.drill.o.Open == nil {
		return errors.New("labs cannot be loaded from here")
	}
	if r.lab, err = r.drill.o.Open(ctx, name); err != nil {
		return err
	}
	if r.before, err = r.lab.Describe(ctx, true); err != nil {
		return err
	}
	if n := len(r.before.Faults); n > 0 {
		return fmt.Errorf("something is broken in the lab %s already (%s %s): heal it first (plimsoll lab heal %s --all)", name,
			r.before.Faults[0].Action, r.before.Faults[0].Target, name)
	}
	a, err := r.lab.Address(ctx, r.drill.spec.Run.Durability)
	if err != nil {
		return err
	}
	r.uri, r.result.Level, r.result.Means = a.URI, a.Level, a.Means
	r.result.Members = withData(r.before)
	if events, err := r.lab.EventsSince(ctx, 0); err == nil && len(events) > 0 {
		r.seq = events[len(events)-1].Seq
	}
	r.used = r.resources(ctx)
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
func (r *round) resources(ctx context.Context) (sum resources) {
	list, err := r.lab.Usage(ctx)
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
func (r *round) load(ctx context.Context) (*record.Run, error) {
	o := r.drill.o.Run
	spec := r.drill.spec.Run
	o.Dir, o.Progress = filepath.Join(r.drill.o.Dir, filepath.FromSlash(r.result.Record)), r.drill.o.Progress
	o.Lab = func(ctx context.Context, name string) (run.Lab, error) { return r.drill.o.Open(ctx, name) }
	o.Workload = r.books.workload
	o.Teller = func(tell func(string, string, map[string]string)) { r.tell = tell }
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var guard sync.WaitGroup
	unwatch := func() {}
	begin := func(at time.Time) {
		r.zero = at
		unwatch = r.watchPrimary(ctx)
		r.drill.progress.loadBegan()
		r.breaks.begin(ctx, at)
		if r.lab != nil {
			guard.Go(func() { r.guard(watching, r.breaks.allHealed()) })
		}
	}
	o.Ready = func(context.Context) error { r.placement(); begin(time.Now()); return nil }
	result, err := fleet.ExecuteWith(ctx, spec, o, r.drill.o.Launch, r.duty(begin))
	unwatch()
	r.drill.progress.loadEnded()
	r.breaks.loadEnded()
	stop()
	guard.Wait()
	return result, err
}

// measureEffects takes the effects from the times of the operations.
func (r *round) measureEffects(result *record.Run) {
	out := r.result
	out.WindowStart, out.WindowEnd = result.Course.WindowStart, result.Course.WindowEnd
	r.shift = out.WindowStart - int64(r.drill.spec.Run.Load.Warmup)
	if r.clients() > 1 { // their common window begins with the last of them
		r.shift = int64(r.zero.Sub(result.Started))
	}
	r.breaks.clock = r.clock()
	out.Faults = r.breaks.faults()
	r.gather(result)
	out.ClientCPUSeconds, out.ServiceCPUSeconds = usedBeside(result)
	if !broke(out.Faults) || r.courses == nil {
		return
	}
	r.struckShards()
	r.effects(-1, "", r.courses)
	for client, list := range r.perClient {
		r.effects(client, "", byClass(list))
	}
	for i, s := range out.Shards {
		r.effects(-1, s.Name, byClass(onShard(r.parts, i)))
	}
}

// usedBeside is the processor time of the load processes and of the REST service between them and the target, in all
// phases: the documents that were loaded first are among the work of the servers too.
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

// clock is that of the record. It is counted from the beginning of the load as this process saw it, whose monotonic
// clock goes on evenly when the wall clock of the machine is set; a record knows the wall clock only.
func (r *round) clock() clock { return clock{r.zero.Add(-time.Duration(r.shift))} }

// effects says what the faults meant for the operations of one client, or of all, on one shard, or on all: for all
// operations, for reads and writes where there are both, and for each class.
func (r *round) effects(client int, shard string, list []course) {
	out := r.result
	f := out.Faults[0]
	w := window{from: out.WindowStart - r.shift, fault: f.Injected - r.shift, until: out.WindowEnd - r.shift,
		done: f.Done - r.shift}
	if f.Healed > 0 {
		w.healed = f.Healed - r.shift
	}
	if len(r.drill.spec.Run.Load.Stages) > 0 {
		w.baseline = w.fault - baselineLength
	}
	add := func(c course, kind string) {
		e := effectOf(c, w)
		if e.OutageFrom >= 0 {
			e.OutageFrom += r.shift
		}
		e.Client, e.Kind, e.Shard = client, kind, shard
		out.Effects = append(out.Effects, e)
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

// conclude judges the round.
func (r *round) conclude(ctx context.Context, result *record.Run, err error, problem string) {
	out := r.result
	out.Status = record.Complete
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		out.Status = record.Interrupted
	case err != nil:
		out.Status, out.Problem = record.Failed, err.Error()
		problem = err.Error()
	}
	r.remains()
	r.expect()
	stayed := r.stayed(r.breaks.mustChange())
	out.Verdict, out.Reasons = judge(evidence{round: out, acknowledged: r.acknowledgedBefore(), stayed: stayed,
		sharded: r.sharded(), collection: r.unspread(), planned: len(r.drill.spec.Faults),
		problem: problem})
	if ids := doubts(result.Validity); ids != "" {
		r.drill.find("run-invalid", measure.Warning, "the rates of round %d are doubtful for other reasons than what was broken (%s): plimsoll show %s", out.Number, ids,
			filepath.Join(r.drill.o.Dir, out.Record))
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
func (r *round) expect() {
	out := r.result
	if r.drill.spec.Expect != nil {
		out.Expect = *r.drill.spec.Expect
	}
	if out.Expect.Loss != "" {
		out.Promise = "the drill says so"
		return
	}
	out.Expect.Loss, out.Promise = r.circumstances().promise()
}

// circumstances are what the promise of the round's writes depends on.
func (r *round) circumstances() circumstances {
	c := circumstances{
		level: r.result.Level, concern: r.concern(), topology: r.identity.Topology(),
		majorityJournal: r.concerns.MajorityJournal, changed: r.changed,
		hidden: r.lab == nil && (r.sees == seesRouters || r.identity.Kind == server.FerretDB),
	}
	c.struck, c.members = r.struckMost()
	if r.identity.Kind == server.FerretDB && !r.drill.spec.Run.Durability.Says() {
		c.topology = gateway
	}
	return c
}

// acknowledgedBefore is how many writes were acknowledged in the second before the first fault.
func (r *round) acknowledgedBefore() int64 {
	if !broke(r.result.Faults) || r.courses == nil {
		return -1
	}
	at := r.result.Faults[0].Injected - r.shift
	return count(ofKind(r.courses, true), at-int64(time.Second), at)
}

// silent is the progress of a drill that nobody watches.
type silent struct{}

func (silent) Step(string)                              {}
func (silent) Begin(run.Plan)                           {}
func (silent) Interval(measure.Dims, *measure.Interval) {}
func (silent) Event(measure.Event)                      {}
func (silent) Note(string)                              {}
