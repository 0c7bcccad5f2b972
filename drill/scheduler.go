package drill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	verifyAtMost   = 15 * time.Second // until something other than the injector sees an effect
	verifyHealed   = 5 * time.Second  // the same after the fault was healed
	describeBefore = 2 * time.Second  // how long before the fault the lab is queried for its primaries
	injectAtMost   = time.Minute
	healAtMost     = 5 * time.Minute
	labHealsAfter  = 15 * time.Second // after the time at which the drill heals, in case the drill is gone
	longestAudit   = 10 * time.Minute // that a fault with stay: true has to outlast
)

// scheduler injects the faults of a round at their times, verifies that they have an effect, and heals them.
type scheduler struct {
	drill    *runner
	target   *target
	spec     spec.Drill
	mark     <-chan time.Time // of [Options]
	progress *statusWriter
	events   *events

	loadOver chan struct{} // closed when the load is over
	once     sync.Once
	running  sync.WaitGroup // one for each fault
	under    sync.WaitGroup // one for each fault that is not reverted, and for each event that has not ended

	latest time.Time // when events must have ended

	mu   sync.Mutex
	list []*roundFault
}

// roundFault is one fault of a round. Fields that change after the injection are guarded by the lock of the scheduler.
type roundFault struct {
	platform.Injection
	spec     spec.Fault
	injector platform.Injector
	before   []record.LabMember // just before the injection
	struck   []record.LabMember // the target, or the members on it
	problem  string
	event    bool // planned maintenance, which ends by itself
	failed   bool // of an event: it failed, or did not end in time
}

func newScheduler(c *runner, asked spec.Drill, t *target, e *events) *scheduler {
	return &scheduler{drill: c, target: t, spec: asked, mark: c.o.Mark, progress: c.progress, events: e,
		loadOver: make(chan struct{})}
}

// start begins one goroutine for each fault. ctx ends with the load, after as [runner.afterLoad] says. loadBegan
// is when the load began.
func (b *scheduler) start(ctx, after context.Context, loadBegan time.Time) {
	measured := loadBegan.Add(b.spec.Run.Load.Warmup.Std())
	end := measured.Add(b.spec.Measured())
	b.latest = end.Add(b.spec.Recovery.Std())
	start := func(do func(over func())) {
		b.under.Add(1)
		over := sync.OnceFunc(b.under.Done)
		b.running.Go(func() { defer over(); do(over) })
	}
	if b.spec.External {
		start(func(func()) { b.external(ctx, end) })
		return
	}
	for _, f := range b.spec.Faults {
		at, _ := b.spec.Moment(f)
		due := measured.Add(at)
		until := end
		if f.For > 0 {
			until = due.Add(f.For.Std())
		}
		start(func(over func()) { b.run(ctx, after, f, due, until, over) })
	}
}

// isEvent reports whether a fault is planned maintenance, which ends by itself.
func isEvent(f spec.Fault) bool {
	a := fault.Find(f.Action.Name)
	return f.Exec == nil && a != nil && a.Event
}

// hasEvents reports whether the drill has planned events. Its load goes on until they have ended.
func (b *scheduler) hasEvents() bool { return slices.ContainsFunc(b.spec.Faults, isEvent) }

// loadEnded cancels faults that are not injected yet, and heals the others except those that stay.
func (b *scheduler) loadEnded() { b.once.Do(func() { close(b.loadOver) }) }

// wait returns when all faults are healed or cancelled, except those that stay.
func (b *scheduler) wait() { b.running.Wait() }

// waiting returns a channel that is closed when all faults are healed or cancelled and all events have ended.
func (b *scheduler) waiting() <-chan struct{} {
	done := make(chan struct{})
	go func() { b.under.Wait(); close(done) }()
	return done
}

// sleepUntil returns false if the load or the drill ends first.
func (b *scheduler) sleepUntil(ctx context.Context, at time.Time) bool {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-b.loadOver:
	case <-ctx.Done():
	}
	return false
}

// run injects one fault, verifies it, waits, and heals it. It calls over when an event has ended.
func (b *scheduler) run(ctx, after context.Context, asked spec.Fault, due, until time.Time, over func()) {
	if !b.sleepUntil(ctx, due.Add(-describeBefore)) {
		return
	}
	f := &roundFault{spec: asked, before: b.members(ctx), event: isEvent(asked)}
	if !b.sleepUntil(ctx, due) {
		return
	}
	limit := time.Until(until) + labHealsAfter
	if asked.Stay {
		limit += b.spec.Recovery.Std() + longestAudit
	}
	err := platform.ErrNotALab
	if b.target.platform != nil {
		f.injector, err = b.target.platform.Fault(asked, limit)
	}
	if err == nil && f.event {
		b.event(ctx, after, f, over)
		return
	}
	if err == nil {
		err = b.inject(after, f)
	}
	b.add(f)
	if err != nil {
		b.locked(func() { f.problem = err.Error() })
		b.progress.Note(fmt.Sprintf("fault not injected: %s: %v", asked.Action, err))
		return
	}
	if asked.For > 0 {
		until = f.Effective.Add(asked.For.Std()) // the injection itself may take a while
	}
	b.progress.enter(record.StageBroken)
	b.progress.note("fault", fmt.Sprintf("fault injected: %s on %s", asked.Action, f.Target))
	b.verify(ctx, f, until)
	if !f.Lasts { // there is nothing to heal
		b.locked(func() { f.Healed = f.Effective })
		b.progress.healed(b.unhealed())
		return
	}
	if asked.Stay {
		return
	}
	if asked.For > 0 || b.hasEvents() {
		b.sleepUntil(ctx, until)
	} else {
		b.sleepUntil(ctx, until.Add(labHealsAfter)) // the load ends before that
	}
	b.heal(after, f)
	if !f.Hit {
		b.verify(after, f, time.Time{}) // processes that ended and counters are still visible
	}
}

// event runs a planned event until its end or its limit, verifies it, and removes what it left behind after the load.
func (b *scheduler) event(ctx, after context.Context, f *roundFault, over func()) {
	b.progress.enter(record.StageBroken)
	b.progress.note("event", "event begun: "+f.spec.Action.String())
	ending := wait.Wait{Name: "end of " + f.spec.Action.String() + " within the measured time and the time for recovery (--recovery)",
		Limit: time.Until(b.latest)}
	err := ending.Do(ctx, func(ctx context.Context) error { return b.injectIn(ctx, f) })
	b.locked(func() {
		f.Healed = f.Effective
		if f.failed = err != nil; f.failed {
			f.problem = err.Error()
		}
	})
	b.add(f)
	if err != nil {
		b.progress.Note(fmt.Sprintf("event failed: %s: %v", f.spec.Action, err))
	} else {
		b.progress.note("event", fmt.Sprintf("event ended: %s on %s, after %s", f.spec.Action, f.Target,
			figure.Duration(f.Effective.Sub(f.Requested))))
		b.verify(ctx, f, time.Time{})
	}
	b.progress.healed(b.unhealed())
	if over(); !f.Injected() {
		return
	}
	<-b.loadOver
	injection, err := b.revert(after, f)
	b.locked(func() {
		injection.Healed = injection.Effective
		if f.Injection = injection; err != nil && f.problem == "" {
			f.problem = err.Error()
		}
	})
}

// members returns the members as they are now, or as they were before the load if they cannot be queried in time.
func (b *scheduler) members(ctx context.Context) []record.LabMember {
	ctx, cancel := context.WithTimeout(ctx, describeBefore)
	defer cancel()
	if b.target.platform != nil {
		if list, err := b.target.platform.Members(ctx); err == nil {
			return list
		}
	}
	return b.target.before.Members
}

// inject ignores an interruption of the load, so that no fault is left half injected and unknown.
func (b *scheduler) inject(after context.Context, f *roundFault) (err error) {
	injecting := wait.Wait{Name: "injection of " + f.spec.Action.String(), Limit: injectAtMost}
	if f.spec.Action.Name == fault.AddMember { // it copies all data
		injecting.Limit = b.spec.Measured() + b.spec.Recovery.Std()
	}
	return injecting.Do(after, func(ctx context.Context) error { return b.injectIn(ctx, f) })
}

func (b *scheduler) injectIn(ctx context.Context, f *roundFault) error {
	injection, err := f.injector.Inject(ctx)
	b.locked(func() {
		f.Injection = injection
		for _, m := range f.before {
			if m.Name == injection.Target || m.Host == injection.Target || slices.Contains(injection.Members, m.Name) {
				f.struck = append(f.struck, m)
			}
		}
	})
	return err
}

// verify looks for an effect until a moment; zero is after the heal.
func (b *scheduler) verify(ctx context.Context, f *roundFault, until time.Time) {
	limit := verifyAtMost
	switch {
	case until.IsZero():
		limit = verifyHealed
	case !f.spec.Stay && f.spec.For > 0:
		limit = min(limit, max(time.Until(until), 0))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	injection, err := f.injector.Verify(ctx)
	b.locked(func() {
		f.Injection = injection
		if err != nil && !injection.Hit {
			f.problem = err.Error()
		}
	})
}

// revert heals a fault, or removes what an event left behind, even after an interrupt.
func (b *scheduler) revert(after context.Context, f *roundFault) (injection platform.Injection, err error) {
	ctx, stop := wait.Must(after)
	defer stop()
	healing := wait.Wait{Name: "revert of " + f.spec.Action.String(), Limit: b.drill.within(healAtMost)}
	injection = f.Injection // if it does not begin
	err = healing.Do(ctx, func(ctx context.Context) (err error) {
		injection, err = f.injector.Heal(ctx)
		return err
	})
	return injection, err
}

func (b *scheduler) heal(after context.Context, f *roundFault) {
	b.progress.enter(record.StageHealing)
	injection, err := b.revert(after, f)
	b.locked(func() {
		f.Injection = injection
		if err != nil {
			f.problem = "it could not be reverted: " + err.Error()
		}
	})
	if err != nil {
		b.progress.Note(fmt.Sprintf("fault could not be reverted: %s: %v", f.spec.Action, err))
		return
	}
	b.progress.healed(b.unhealed())
	b.progress.note("heal", "fault reverted: "+f.spec.Action.String())
}

// unhealed counts the faults that are in place.
func (b *scheduler) unhealed() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.list {
		if f.Injected() && f.Healed.IsZero() {
			n++
		}
	}
	return n
}

// healRest heals the faults that stay until the audit is over.
func (b *scheduler) healRest(after context.Context) {
	for _, f := range b.ordered() {
		if f.spec.Stay && f.Injected() && f.Healed.IsZero() {
			b.heal(after, f)
		}
	}
}

// externalFault is the name of a fault that the user injects.
var externalFault = spec.ParseAction("external")

// anywhere reports whether a fault names no member, so that it may have struck any.
func anywhere(f record.DrillFault) bool { return f.Fault.Target == "" }

// external waits until the user marks the beginning and the end of a fault.
func (b *scheduler) external(ctx context.Context, end time.Time) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	go func() {
		select {
		case <-b.loadOver:
			cancel()
		case <-ctx.Done():
		}
	}()
	f := &roundFault{spec: spec.Fault{Action: externalFault}}
	f.injector = platform.External(externalFault.String(), b.mark)
	var err error
	if f.Injection, err = f.injector.Inject(ctx); err != nil {
		return // nothing was marked
	}
	f.Injection, _ = f.injector.Verify(ctx)
	b.add(f)
	b.events.add("fault", "you marked the start of the fault", nil)
	b.progress.enter(record.StageBroken)
	b.progress.note("fault", "the start of the fault is marked. Mark again when the fault has ended")
	if injection, err := f.injector.Heal(ctx); err == nil {
		b.locked(func() { f.Injection = injection })
		b.events.add("heal", "you marked the end of the fault", nil)
		b.progress.healed(b.unhealed())
		b.progress.note("heal", "the end of the fault is marked")
	}
}

func (b *scheduler) add(f *roundFault) { b.locked(func() { b.list = append(b.list, f) }) }

func (b *scheduler) locked(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// ordered returns the injected faults by time, then those that could not be injected.
func (b *scheduler) ordered() []*roundFault {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.Clone(b.list)
	slices.SortStableFunc(list, func(x, y *roundFault) int {
		if x.Injected() != y.Injected() {
			if x.Injected() {
				return -1
			}
			return 1
		}
		return x.Requested.Compare(y.Requested)
	})
	return list
}

// faults returns all faults for the record. Their times are left out as long as the clock is not known.
func (b *scheduler) faults(c runClock) []record.DrillFault {
	list := []record.DrillFault{}
	for _, f := range b.ordered() {
		b.mu.Lock()
		r := record.DrillFault{Fault: f.spec.Action, Target: cmp.Or(f.Target, f.spec.Action.String()),
			Hit: f.Hit, Disputed: f.Disputed, Evidence: f.Evidence, Problem: f.problem}
		if b.target.sharded() {
			r.Shards = f.shards()
		}
		if f.Injected() {
			r.Mode = f.Mode // without one, the fault was not injected
		}
		if f.event && f.Injected() {
			r.Event = &record.DrillEvent{Outcome: record.EventCompleted, Figures: f.Figures}
			if f.failed {
				r.Event.Outcome = record.EventFailed
			}
		}
		r.Commands = commandsOf(f.Commands, c)
		if f.Injected() && !c.began.IsZero() {
			r.Injected, r.Done = c.at(f.Requested), c.at(f.Effective)
			if !f.Seen.IsZero() {
				r.Seen = c.at(f.Seen)
			}
			if !f.Healed.IsZero() {
				r.Healed = c.at(f.Healed)
			}
		}
		b.mu.Unlock()
		list = append(list, r)
	}
	return list
}

// commandsOf returns the commands of a fault for the record.
func commandsOf(list []platform.Command, c runClock) (out []record.DrillCommand) {
	for _, one := range list {
		r := record.DrillCommand{Step: one.Step, Command: one.Text, Exit: one.Exit, Request: one.Request,
			Output: one.Output, Problem: one.Problem}
		if !c.began.IsZero() {
			r.Asked, r.Returned = c.at(one.Asked), c.at(one.Returned)
		}
		out = append(out, r)
	}
	return out
}

// inPlace returns the faults that are in effect now.
func (b *scheduler) inPlace() (list []record.LabFault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.list {
		if f.Injected() && f.Lasts && f.Healed.IsZero() {
			list = append(list, record.LabFault{ID: f.ID, Action: f.spec.Action.Name, Target: f.Target})
		}
	}
	return list
}

// intended returns the numbers of the faults that stay until the audit is over.
func (b *scheduler) intended() map[int]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := map[int]bool{}
	for _, f := range b.list {
		ids[f.ID] = f.spec.Stay && f.Injected()
	}
	return ids
}

// tookPrimary reports whether a fault took a primary away. If the failure mode is unknown, that is assumed.
func (b *scheduler) tookPrimary() bool {
	return slices.ContainsFunc(b.ordered(), func(f *roundFault) bool {
		if !f.Injected() {
			return false
		}
		anyPrimary := slices.ContainsFunc(f.struck, func(m record.LabMember) bool { return f.struckPrimary(m.Set) })
		return f.Mode == fault.Unknown || anyPrimary && f.Unseats
	})
}

// mustChange returns the sets in which another member had to become the primary.
func (b *scheduler) mustChange() (sets []string) {
	for _, set := range setsOf(b.target.before) {
		members := membersOf(b.target.before, set)
		if members < 2 || members-b.mostDown(set) <= members/2 { // nobody else, or no majority, is left
			continue
		}
		if slices.ContainsFunc(b.ordered(), func(f *roundFault) bool {
			return f.Injected() && f.struckPrimary(set) && f.Unseats
		}) {
			sets = append(sets, set)
		}
	}
	return sets
}

// everDown counts the members of a set with data that were down or cut off at some time. Each counts once, however
// many faults struck it.
func (b *scheduler) everDown(set string) int {
	down := map[string]bool{}
	for _, f := range b.ordered() {
		if f.Injected() && f.TakesDown {
			f.addData(set, down)
		}
	}
	return len(down)
}

// mostDown is the greatest number of a set's members with data that were down or cut off at the same time.
func (b *scheduler) mostDown(set string) int {
	list := b.ordered()
	most := 0
	for _, one := range list {
		at := one.Requested
		down := map[string]bool{}
		for _, f := range list {
			if f.Injected() && f.TakesDown && !f.Requested.After(at) && (f.Healed.IsZero() || f.Healed.After(at)) {
				f.addData(set, down)
			}
		}
		most = max(most, len(down))
	}
	return most
}

// worstSet returns how many members with data were down at the same time in the set that lost the greatest share, and
// how many it has. Without a platform, the number of members is what the set reports.
func (b *scheduler) worstSet() (down, members int) {
	if len(b.target.before.Members) == 0 {
		return 0, len(b.target.identity.Hello.Data())
	}
	for _, set := range setsOf(b.target.before) {
		d, m := b.mostDown(set), membersOf(b.target.before, set)
		if members == 0 || d*members > down*m {
			down, members = d, m
		}
	}
	return down, members
}

// struckPrimary reports whether the fault struck the primary of a set, or its only member.
func (f *roundFault) struckPrimary(set string) bool {
	return slices.ContainsFunc(f.struck, func(m record.LabMember) bool {
		return m.Set == set && (m.Role == "primary" || m.Role == "standalone")
	})
}

// addData adds the names of the struck members of a set that hold data.
func (f *roundFault) addData(set string, to map[string]bool) {
	for _, m := range f.struck {
		if m.Set == set && holdsData(m) {
			to[m.Name] = true
		}
	}
}

// shards returns the shards of which the fault struck a member with data.
func (f *roundFault) shards() (names []string) {
	for _, m := range f.struck {
		if holdsData(m) && m.Set != "" && !slices.Contains(names, m.Set) {
			names = append(names, m.Set)
		}
	}
	return names
}
