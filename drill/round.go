package drill

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// round is one repetition: the order of its steps, and the parts that do them. Each part has its own state.
type round struct {
	drill  *runner
	spec   spec.Drill // of this round, with its delay
	result *record.DrillRound

	target     *target
	events     *events
	scheduler  *scheduler  // injects, verifies and heals
	primaries  *primaries  // which members lead
	redundancy *redundancy // when the lab is as before
	operations *operations // what the load did
	seeds      *seeds      // nil without a server
	epochs     *epochs     // of the workload transactions, otherwise nil
	unanswered unanswered  // waits after which something is not known

	began time.Time // of the load
	clock runClock  // known when the load is over
}

// events passes events to the run's record. Until the run begins there is none, and they are dropped.
type events struct {
	write func(kind, text string, data map[string]string)
}

func (e *events) add(kind, text string, data map[string]string) {
	if e.write != nil {
		e.write(kind, text, data)
	}
}

// newRound returns a round of a specification, whose result goes into out.
func newRound(c *runner, asked spec.Drill, out *record.DrillRound) *round {
	r := &round{drill: c, spec: asked, result: out, target: &target{}, events: &events{}, primaries: &primaries{}}
	r.scheduler = newScheduler(c, asked, r.target, r.events)
	r.redundancy = &redundancy{drill: c, target: r.target, scheduler: r.scheduler, primaries: r.primaries,
		events: r.events}
	var number [4]byte
	_, _ = rand.Read(number[:]) // cannot fail
	out.Mark = binary.LittleEndian.Uint32(number[:])
	r.operations = &operations{spec: asked.Run, number: out.Mark,
		dir: filepath.Join(c.o.Dir, filepath.FromSlash(out.Record))}
	return r
}

// round does one repetition. After an error no other is tried.
func (c *runner) round(ctx context.Context, asked spec.Drill, out *record.DrillRound) error {
	r := newRound(c, asked, out)
	defer r.close()
	after, stop := c.afterLoad(ctx, r.scheduler.loadOver)
	defer stop()
	ctx, after = r.listen(ctx, after), r.listen(after, after)
	if err := r.prepare(ctx); err != nil {
		out.Status, out.Problem, out.Reasons = record.Failed, err.Error(), []string{err.Error()}
		return err
	}
	result, err := r.load(ctx, after)
	r.scheduler.wait()
	out.Faults = r.scheduler.faults(r.clock)
	if result == nil {
		out.Status, out.Problem, out.Reasons = record.Failed, fmt.Sprint(err), []string{fmt.Sprint(err)}
		return err
	}
	r.measure(result)
	r.redundancy.wait(after)
	out.Problem = r.redundancy.problem
	r.timeline(after)
	problem := r.audit(after)
	r.scheduler.healRest(after)
	out.Faults = r.scheduler.faults(r.clock)
	if nerr := r.operations.notice(out, r.clock.shift); nerr != nil {
		r.drill.find("latencies-unread", measure.Warning, "the latencies of round %d could not be read from its record, so the p99 "+
			"before, during and after a fault is missing: %v", out.Number, nerr)
	}
	r.judgeEvents()
	r.conclude(ctx, result, err, problem)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

func (r *round) close() {
	if r.seeds != nil {
		r.seeds.close()
	}
	r.operations.probes.close()
	r.target.close()
}

// prepare finds the target, describes it, and writes the seed documents.
func (r *round) prepare(ctx context.Context) error {
	asked := r.spec.Run
	t, err := run.ParseTarget(asked.Target)
	if err != nil {
		return &run.Error{Stage: run.Specification, Err: err}
	}
	r.target.uri = t.URI
	if err := run.Reach(ctx, asked); err != nil {
		return &run.Error{Stage: run.Reaching, Err: err}
	}
	if t.Kind == "lab" {
		if err := r.target.openLab(ctx, r.drill, t.Lab, r.result); err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
	}
	if p := r.drill.o.Platform; p != nil && t.Kind != "lab" {
		if err := r.target.openPlatform(ctx, p, r.result); err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
	}
	if r.target.platform != nil {
		r.settle(ctx)
		if err := r.isWhole(); err != nil {
			return &run.Error{Stage: run.Specification, Err: err}
		}
	}
	if r.target.uri != "" {
		r.drill.writer.AddSecrets(r.target.uri)
		r.target.query(ctx)
		r.drill.nameVendor(r.target.identity.Vendor)
		if err := r.target.plan(r.spec); err != nil {
			return &run.Error{Stage: run.Specification, Err: err}
		}
		placed, err := r.target.spreadSeeds(ctx, asked, r.drill.progress.Step)
		if err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
		if err := r.nameRemains(asked.Database); err != nil {
			return &run.Error{Stage: run.Recording, Err: err}
		}
		if r.seeds, err = writeSeeds(ctx, r.target.uri, asked.Database, r.result.Mark, placed); err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
		r.result.Seeds = len(r.seeds.ids)
		if asked.Via == "" {
			if r.operations.probes, err = openProbes(ctx, r.target.uri, asked, r.operations.number, placed); err != nil {
				return &run.Error{Stage: run.Reaching, Err: err}
			}
		}
	}
	r.operations.observed = observations{name: asked.Workload.Name, timeout: asked.Load.Timeout.Std(),
		ledger: ledger.New(ledger.Options{
			Run: r.result.Mark, Seed: asked.Workload.Seed, Writers: max(1, int(asked.Load.Workers))})}
	if judged := r.spec.Reads; judged != nil {
		r.operations.observed.share = float64(judged.Share)
	}
	if asked.Workload.Name == spec.WorkloadTransactions {
		return r.prepareTransactions(ctx)
	}
	return nil
}

// isWhole refuses a deployment of which something is missing before the first fault, unless that is wanted. The verdict
// considers it then. What later rounds lack, the rounds before them have caused.
func (r *round) isWhole() error {
	t := r.target
	t.lacked, t.minority = lacking(t.before), minority(t.before, r.spec.Faults, t.voting)
	state := refusal(t.lacked, t.minority)
	if state == "" || r.result.Number > 1 {
		return nil
	}
	if !r.drill.o.Anyway {
		return fmt.Errorf("nothing was injected, because of the state before the first fault: %s. Repair it, or begin in this state with "+
			"--anyway", state)
	}
	r.drill.find("degraded-before", measure.Warning, "before the first fault, %s. Outages and losses are those of this state.", state)
	return nil
}

// load runs the load, during which the faults are injected.
func (r *round) load(ctx, after context.Context) (*record.Run, error) {
	o := r.drill.o.Run
	o.Dir, o.Progress = r.operations.dir, r.drill.progress
	o.Lab = func(ctx context.Context, name string) (run.Lab, error) { return r.drill.o.Open(ctx, name) }
	o.Workload, o.Observe = r.operations.observed.workload, r.operations.observed.observe
	o.Teller = func(write func(string, string, map[string]string)) { r.events.write = write }
	asked := r.spec.Run
	if r.scheduler.hasEvents() {
		asked.Load.Duration = spec.Duration(r.spec.Measured()) + r.spec.Recovery
	}
	loading, end := context.WithCancelCause(ctx)
	defer end(nil)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	unwatch := func() {}
	begin := func(at time.Time) {
		r.began = at
		unwatch = r.primaries.watch(ctx, r.target.uri, r.spec.Run.Database, r.events)
		r.drill.progress.loadBegan()
		r.scheduler.start(ctx, after, at)
		r.operations.probes.begin(ctx, at)
		r.operations.observed.keeper.Begin(at)
		if r.scheduler.hasEvents() {
			group.Go(func() { r.goesOn(watching) })
		}
		group.Go(func() { r.releases(watching) })
		group.Go(func() {
			if r.target.platform != nil {
				r.redundancy.watch(watching, after)
			}
			if r.scheduler.hasEvents() && r.recovered(watching) {
				end(load.ErrEnough)
				stop()
			}
		})
	}
	place := func() { r.place(ctx) }
	o.Ready = func(context.Context) error { place(); begin(time.Now()); return nil }
	duty := r.operations.duty(place, begin)
	result, err := fleet.Execute(loading, asked, o, fleet.Options{Places: r.drill.o.Places, Duty: duty})
	unwatch()
	r.operations.probes.end()
	r.drill.progress.loadEnded()
	r.scheduler.loadEnded()
	stop()
	group.Wait()
	return result, err
}

// goesOn says that the load goes on after its measured time.
func (r *round) goesOn(ctx context.Context) {
	if wait.Sleep(ctx, time.Until(r.measured())) == nil {
		r.drill.progress.Note(fmt.Sprintf("the load continues until its events have ended and reads and writes succeed again, at most "+
			"for %v (--recovery)", r.spec.Recovery))
	}
}

// measured is the end of the measured time.
func (r *round) measured() time.Time {
	return r.began.Add(r.spec.Run.Load.Warmup.Std() + r.spec.Measured())
}

// recovered waits until the load of a drill of events may end: all of them have ended, reads and writes succeed again,
// the throughput has had time to come back, and the measured time is over. It returns false if the load ends before.
func (r *round) recovered(ctx context.Context) bool {
	select {
	case <-r.scheduler.waiting():
	case <-ctx.Done():
		return false
	}
	ended := time.Now()
	for !r.operations.probes.succeededSince(int64(ended.Sub(r.began))) {
		if wait.Sleep(ctx, probeEvery) != nil {
			return false
		}
	}
	// The load ends at the end of the second in which it may.
	rest := max(time.Until(ended.Add(spanMost)), time.Until(r.measured().Add(-load.DefaultInterval/2)))
	return wait.Sleep(ctx, rest) == nil
}

// place reads the placement of the load's collections in a sharded cluster, just before the load. If it cannot be known
// the record says why.
func (r *round) place(ctx context.Context) {
	own := &r.operations.observed
	if !r.target.sharded() || own.wrapped == nil {
		return
	}
	collections := own.wrapped.Collections()
	m, err := r.target.placement(ctx, r.spec.Run.Database, collections)
	if err != nil {
		r.result.Placement = "the shard of an operation is not known: " + oneLine(err)
		return
	}
	own.place(m)
	r.result.Placement = fmt.Sprintf("the shard of an operation follows from the shard key of its document and the chunks in "+
		"config.chunks; a router agreed for %d keys of %s", checkedKeys, collections[0])
	for _, name := range m.Shards {
		r.result.Shards = append(r.result.Shards, record.DrillShard{Name: name})
	}
}

// checkPlacement adds a finding if chunks were moved during the round.
func (r *round) checkPlacement(ctx context.Context) {
	own := &r.operations.observed
	now, err := r.target.placement(ctx, r.spec.Run.Database, own.wrapped.Collections())
	if slices.ContainsFunc(r.spec.Faults, func(f spec.Fault) bool {
		return f.Action.Name == fault.ChunkMigration
	}) {
		return // it was planned
	}
	if err == nil && !now.Same(own.placed) {
		r.drill.find("chunks-moved", measure.Warning, "chunks were moved between shards during round %d. Each operation counts "+
			"for the shard that had its chunk when the load began. Stop the balancer for a drill (sh.stopBalancer())",
			r.result.Number)
	}
}

// measure computes the effects of the faults from the times of the operations.
func (r *round) measure(result *record.Run) {
	out := r.result
	out.WindowStart, out.WindowEnd = result.Course.WindowStart, result.Course.WindowEnd
	r.clock = runClock{began: r.began, shift: out.WindowStart - int64(r.spec.Run.Load.Warmup)}
	if r.operations.clients() > 1 { // their common window begins with the last of them
		r.clock.shift = int64(r.began.Sub(result.Started))
	}
	out.Faults = r.scheduler.faults(r.clock)
	r.operations.gather(result, r.clock.shift)
	out.Unknown = r.operations.unknown
	out.ClientCPUSeconds, out.ServiceCPUSeconds = clientCPU(result)
	if anyInjected(out.Faults) && r.operations.byClass != nil {
		r.operations.markStruck(out, r.clock.shift)
		r.operations.addEffects(out, r.clock.shift)
	}
}

// clientCPU sums the processor time of the load processes and of the REST service over all phases, because the servers'
// processor time includes the documents that were loaded first.
func clientCPU(result *record.Run) (client, service float64) {
	for i := range result.Phases {
		p := &result.Phases[i]
		client += p.Client.CPUSeconds
		if p.Service != nil {
			service += p.Service.CPUSeconds
		}
	}
	return client, service
}

// timeline puts faults, changes of primaries and recoveries on one clock.
func (r *round) timeline(ctx context.Context) {
	if r.operations.byClass == nil {
		return
	}
	var list []record.LabEvent
	if lab := r.target.lab; lab != nil {
		now := time.Now()
		if by := clockSet(now.Round(0).Sub(r.began.Round(0)), now.Sub(r.began)); by != 0 {
			r.drill.find("clock-set", measure.Warning, "the machine's wall clock was set by %v during round %d. "+
				"Promotions, elections and reverted faults may be wrong by that much on the timeline",
				by.Round(time.Millisecond), r.result.Number)
		}
		_ = r.drill.wait(ctx, "events of the lab "+lab.Name(), func(ctx context.Context) (err error) {
			list, err = lab.EventsSince(ctx, r.target.seq)
			return err // the timeline lacks what is missing
		})
		list = slices.DeleteFunc(list, r.target.unused)
		for _, e := range list {
			if momentOf(e) == record.MomentElected {
				r.primaries.changedIn(e.Data["set"])
			}
			if momentOf(e) == record.MomentRestart {
				r.primaries.noteRestart(e.Data["member"], r.target.before)
			}
		}
		var used resources
		_ = r.drill.wait(ctx, "use of resources of the lab "+lab.Name(), func(ctx context.Context) (err error) {
			used, err = r.target.resources(ctx)
			return err
		})
		before := r.target.used
		r.result.CPUSeconds, r.result.WrittenBytes = max(0, used.cpu-before.cpu), max(0, used.written-before.written)
	}
	out := r.result
	list = append(list, r.primaries.moments(out.Faults, r.scheduler.tookPrimary(), r.clock)...)
	out.Moments = timelineOf(out, r.operations.scopes(out.Shards), list, r.clock)
	newPrimaries(out)
	if of, ok := r.drill.o.Platform.(platform.Chronicler); ok && len(out.Moments) > 0 {
		for _, m := range of.Moments() {
			if at := r.clock.at(m.At); at >= out.Moments[0].At {
				out.Moments = append(out.Moments,
					record.DrillMoment{Kind: m.Kind, At: at, Fault: lastBefore(out.Faults, at), Text: m.Text})
			}
		}
		slices.SortStableFunc(out.Moments, earlier)
	}
	if at := r.redundancy.restored; !at.IsZero() && anyInjected(out.Faults) {
		out.Moments = append(out.Moments, record.DrillMoment{Kind: record.MomentRedundant, At: r.clock.at(at),
			Fault: lastBefore(out.Faults, r.clock.at(at)), Text: r.redundancy.restoredText()})
		slices.SortStableFunc(out.Moments, earlier)
	}
}

func (r *round) guarantees() *guarantees {
	return &guarantees{asked: r.spec.Run.Durability, target: r.target, scheduler: r.scheduler, primaries: r.primaries,
		members: r.result.Members}
}

// conclude judges the round. problem says why the audit failed.
func (r *round) conclude(ctx context.Context, result *record.Run, err error, problem string) {
	out := r.result
	out.Status = record.Complete
	unknown := r.operations.unknownTexts()
	if problem != "" {
		unknown = append(unknown, problem)
	}
	given := append([]string{unread(out.Ledger)}, unknown...) // these are reasons of their own
	for _, f := range out.Faults {
		if f.Injected <= 0 || f.Event != nil {
			given = append(given, f.Problem)
		}
	}
	unknown = append(unknown, r.unanswered.unmentioned(given)...)
	problem = strings.Join(unknown, "; ")
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		out.Status = record.Interrupted
	case err != nil:
		out.Status, out.Problem = record.Failed, err.Error()
		problem = err.Error()
	}
	if r.target.lab != nil && r.spec.Lab == nil { // the lab outlives the drill
		for _, damaged := range damagedTargets(out.Faults, r.spec.Faults) {
			volume, _, _ := strings.Cut(damaged, "/")
			r.drill.find("damage-stays-"+damaged, measure.Warning, "%s still has the wrong bytes that were stored during the "+
				"fault, because reverting it does not rewrite them. If the volume has copies and checksums, repair it with: plimsoll "+
				"lab repair %s %s. Otherwise create the lab again", damaged, r.target.before.Specification.Name, volume)
		}
	}
	r.expect()
	for _, set := range r.scheduler.mustChange() {
		if name := r.primaries.restarted[set]; name != "" && !r.primaries.sets[set] {
			r.drill.find("primary-restarted", measure.Note, "%s remained the primary of %s in round %d, because the lab restarted it "+
				"before another member could be elected. The outage is the time of that restart, not of a failover. To measure a "+
				"failover, leave out availability.restart (--ha), or make restart_after longer than the election", name, set, out.Number)
		}
	}
	out.Verdict, out.Reasons = judge(evidence{round: out,
		acknowledged: r.operations.acknowledgedBefore(out.Faults, r.clock.shift),
		unchanged:    r.primaries.unchanged(r.scheduler.mustChange(), r.target.before),
		sharded:      r.target.sharded(), collection: r.operations.unspread(), planned: len(r.spec.Faults),
		faultless: len(r.spec.Faults) == 0 && !r.spec.External,
		problem:   problem, lacked: r.target.lacked, minority: r.target.minority})
	if ids := doubts(result.Validity); ids != "" {
		r.drill.find(record.DrillRunInvalid, measure.Warning, "the load of round %d is invalid for reasons other than the fault "+
			"(%s). Outages and lost writes are valid. Rates, shortfall and the times at which rates were restored are not. See: "+
			"plimsoll show %s", out.Number, ids, filepath.Join(r.drill.o.Dir, out.Record))
	}
}

// doubts returns the findings that make a run invalid, except those that a drill causes on purpose.
func doubts(all []measure.Finding) string {
	var ids []string
	for _, f := range all {
		if f.Severity == measure.Invalid && f.ID != "outage" && f.ID != "failures" {
			ids = append(ids, f.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// expect sets what has to hold: what the specification expects or, if it says nothing of losses, what the target
// guarantees.
func (r *round) expect() {
	out := r.result
	if r.spec.Expect != nil {
		out.Expect = *r.spec.Expect
	}
	if out.Expect.Loss != "" {
		out.Promise = "the drill specifies this"
		return
	}
	out.Expect.Loss, out.Promise = r.guarantees().circumstances().promise()
}
