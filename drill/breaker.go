package drill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// How long is waited for what.
const (
	verifyAtMost = 15 * time.Second // for an effect that something other than the injector sees
	verifyLate   = 5 * time.Second  // the same, after it was healed
	lookBefore   = 2 * time.Second  // before it is broken, at who is the primary
	injectAtMost = time.Minute
	healAtMost   = 5 * time.Minute
	// healLate is how much later than the drill the lab heals by itself: only if the drill is gone.
	healLate = 15 * time.Second
)

// breaker does the faults of a round at their times, and heals them.
type breaker struct {
	round *round
	clock clock
	ended chan struct{} // closed when the load is over
	once  sync.Once
	all   sync.WaitGroup

	mu   sync.Mutex
	done []*roundFault
}

// roundFault is one fault of a round: what was requested, and what is known of it.
type roundFault struct {
	fault.Injection
	spec     spec.Fault
	injector fault.Injector
	before   record.Lab
	struck   []record.LabMember // the target, or the members on the target
	problem  string
}

func newBreaker(r *round) *breaker { return &breaker{round: r, ended: make(chan struct{})} }

// begin sets the clocks of all faults. started is when the load begins.
func (b *breaker) begin(ctx context.Context, started time.Time) {
	spec := b.round.drill.spec
	measured := started.Add(spec.Run.Load.Warmup.Std())
	end := measured.Add(spec.Measured())
	if spec.External {
		b.all.Go(func() { b.external(ctx, end) })
		return
	}
	for _, f := range spec.Faults {
		at, _ := spec.Moment(f)
		due := measured.Add(at)
		until := end
		if f.For > 0 {
			until = due.Add(f.For.Std())
		}
		b.all.Go(func() { b.one(ctx, f, due, until) })
	}
}

// loadEnded says that the load is over: what was not broken yet is left alone, and what is broken is healed.
func (b *breaker) loadEnded() { b.once.Do(func() { close(b.ended) }) }

// allHealed is closed when nothing is left to break or to heal, but for what stays.
func (b *breaker) allHealed() <-chan struct{} {
	healed := make(chan struct{})
	go func() { b.all.Wait(); close(healed) }()
	return healed
}

// wait returns when everything that heals with the load is healed.
func (b *breaker) wait() { b.all.Wait() }

// until waits for a moment; false if the load or the drill ended before.
func (b *breaker) until(ctx context.Context, at time.Time) bool {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-b.ended:
	case <-ctx.Done():
	}
	return false
}

// one does one fault: breaks, looks, waits, heals.
func (b *breaker) one(ctx context.Context, asked spec.Fault, due, until time.Time) {
	if !b.until(ctx, due.Add(-lookBefore)) {
		return
	}
	one := &roundFault{spec: asked, before: b.labNow(ctx)}
	if !b.until(ctx, due) {
		return
	}
	limit := time.Until(until) + healLate
	if asked.Stay {
		limit += b.round.drill.spec.Recovery.Std() + 10*time.Minute
	}
	var err error
	if one.injector, err = fault.New(b.round.lab, asked, limit); err == nil {
		err = b.inject(ctx, one)
	}
	b.add(one)
	if err != nil {
		b.set(func() { one.problem = err.Error() })
		b.note("it could not be broken: %v", err)
		return
	}
	if asked.For > 0 {
		until = one.Effective.Add(asked.For.Std()) // looking at the lab before may have taken a while
	}
	b.round.drill.progress.enter(record.StageBroken)
	b.round.drill.progress.told("fault", fmt.Sprintf("%s: %s is broken", asked.Strike, one.Target))
	b.verify(ctx, one, until)
	if one.ID == 0 { // it does not last, so there is nothing to heal
		b.set(func() { one.Healed = one.Effective })
		b.round.drill.progress.healed(b.left())
		return
	}
	if asked.Stay {
		return
	}
	if asked.For > 0 {
		b.until(ctx, until)
	} else {
		b.until(ctx, until.Add(healLate)) // the load ends before that, which is when it is healed
	}
	ctx = context.WithoutCancel(ctx)
	b.heal(ctx, one)
	if !one.Hit {
		b.verify(ctx, one, time.Time{}) // what ended in it, and what was counted, can still be seen
	}
}

// labNow says how the lab stands, or stood.
func (b *breaker) labNow(ctx context.Context) record.Lab {
	ctx, cancel := context.WithTimeout(ctx, lookBefore)
	defer cancel()
	if l, err := b.round.lab.Look(ctx); err == nil {
		return l
	}
	return b.round.before
}

// inject breaks it, also if the drill is interrupted in that moment: a fault that is half done must be known.
func (b *breaker) inject(ctx context.Context, one *roundFault) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), injectAtMost)
	defer cancel()
	known, err := one.injector.Inject(ctx)
	b.set(func() {
		one.Injection = known
		for _, m := range one.before.Members {
			if m.Name == known.Target || m.Host == known.Target {
				one.struck = append(one.struck, m)
			}
		}
	})
	return err
}

func (b *breaker) verify(ctx context.Context, one *roundFault, until time.Time) {
	limit := verifyAtMost
	switch {
	case until.IsZero():
		limit = verifyLate
	case !one.spec.Stay && one.spec.For > 0:
		limit = min(limit, max(time.Until(until), 0))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	known, err := one.injector.Verify(ctx)
	b.set(func() {
		one.Injection = known
		if err != nil && !known.Hit {
			one.problem = err.Error()
		}
	})
}

func (b *breaker) heal(ctx context.Context, one *roundFault) {
	ctx, cancel := context.WithTimeout(ctx, healAtMost)
	defer cancel()
	b.round.drill.progress.enter(record.StageHealing)
	known, err := one.injector.Heal(ctx)
	b.set(func() {
		one.Injection = known
		if err != nil {
			one.problem = "it could not be healed: " + err.Error()
		}
	})
	if err != nil {
		b.note("%s could not be healed: %v", one.spec.Strike, err)
		return
	}
	b.healed(one.spec.Strike.String() + " is healed")
}

// healed tells that a fault is undone.
func (b *breaker) healed(text string) {
	b.round.drill.progress.healed(b.left())
	b.round.drill.progress.told("heal", text)
}

// left is how many faults are in place still.
func (b *breaker) left() (n int) {
	for _, one := range b.list() {
		b.set(func() {
			if one.Injected() && one.Healed.IsZero() {
				n++
			}
		})
	}
	return n
}

// healRest heals what had to stay until the audit.
func (b *breaker) healRest(ctx context.Context) {
	for _, one := range b.list() {
		if one.spec.Stay && one.Injected() && one.Healed.IsZero() {
			b.heal(ctx, one)
		}
	}
}

// externalFault is what a fault is called that somebody else causes.
var externalFault = spec.ParseStrike("external")

// external waits for the moments that somebody marks.
func (b *breaker) external(ctx context.Context, end time.Time) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	go func() {
		select {
		case <-b.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	one := &roundFault{spec: spec.Fault{Strike: externalFault}}
	one.injector = fault.External(externalFault.String(), b.round.drill.o.Mark)
	var err error
	if one.Injection, err = one.injector.Inject(ctx); err != nil {
		return // nobody marked anything
	}
	one.Injection, _ = one.injector.Verify(ctx)
	b.add(one)
	b.round.tell("fault", "marked from outside", nil)
	b.round.drill.progress.enter(record.StageBroken)
	b.round.drill.progress.told("fault", "the moment is marked; mark once more when it is healed")
	if known, err := one.injector.Heal(ctx); err == nil {
		b.set(func() { one.Injection = known })
		b.round.tell("heal", "marked from outside", nil)
		b.healed("the end is marked")
	}
}

func (b *breaker) add(one *roundFault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, one)
}

func (b *breaker) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func (b *breaker) note(format string, a ...any) {
	b.round.drill.o.Progress.Note(fmt.Sprintf(format, a...))
}

// list is what was broken, in order of time; what could not be broken comes last.
func (b *breaker) list() []*roundFault {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.Clone(b.done)
	slices.SortStableFunc(list, func(one, y *roundFault) int {
		if one.Injected() != y.Injected() {
			if one.Injected() {
				return -1
			}
			return 1
		}
		return one.Requested.Compare(y.Requested)
	})
	return list
}

// faults are what was broken, on the clock of the run.
func (b *breaker) faults() []record.DrillFault {
	list := []record.DrillFault{}
	for _, one := range b.list() {
		b.mu.Lock()
		f := record.DrillFault{Fault: one.spec.Strike, Target: cmp.Or(one.Target, one.spec.Strike.String()),
			Manner: one.Manner,
			Shards: b.round.shardsOf(one), Hit: one.Hit, Evidence: one.Evidence, Problem: one.problem}
		if one.Injected() && !b.clock.zero.IsZero() {
			f.Injected, f.Done = b.clock.at(one.Requested), b.clock.at(one.Effective)
			if !one.Healed.IsZero() {
				f.Healed = b.clock.at(one.Healed)
			}
		}
		b.mu.Unlock()
		list = append(list, f)
	}
	return list
}

// unseats says whether a primary that it struck had to stop being one; of what somebody else broke that is not known.
func (one *roundFault) unseats() bool {
	a := action.Find(one.spec.Strike.Action)
	return a != nil && a.Unseats()
}

// takesDown says whether what it struck was down or away.
func (one *roundFault) takesDown() bool {
	a := action.Find(one.spec.Strike.Action)
	return a != nil && a.TakesDown
}
