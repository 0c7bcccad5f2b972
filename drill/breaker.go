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
	x     *round
	clock clock
	ended chan struct{} // closed when the load is over
	once  sync.Once
	all   sync.WaitGroup

	mu   sync.Mutex
	done []*broken
}

// broken is one fault of a round.
type broken struct {
	spec     spec.Fault
	injector fault.Injector
	injected bool
	before   record.Lab
	what     fault.Injection
	struck   []record.LabMember // its target, or what stood on it
	proof    fault.Proof
	healed   time.Time
	problem  string
}

func newBreaker(x *round) *breaker { return &breaker{x: x, ended: make(chan struct{})} }

// begin sets the clocks of all faults. started is when the load begins.
func (b *breaker) begin(ctx context.Context, started time.Time) {
	spec := b.x.c.spec
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
	x := &broken{spec: asked, before: b.look(ctx)}
	if !b.until(ctx, due) {
		return
	}
	limit := time.Until(until) + healLate
	if asked.Stay {
		limit += b.x.c.spec.Recovery.Std() + 10*time.Minute
	}
	var err error
	if x.injector, err = fault.New(b.x.lab, asked, limit); err == nil {
		err = b.inject(ctx, x)
	}
	b.add(x)
	if err != nil {
		b.set(func() { x.problem = err.Error() })
		b.note("it could not be broken: %v", err)
		return
	}
	if asked.For > 0 {
		until = x.what.Done.Add(asked.For.Std()) // looking at the lab before may have taken a while
	}
	b.x.c.stands.enter(record.StageBroken)
	b.x.c.stands.told("fault", fmt.Sprintf("%s: %s is broken", asked.Strike, x.what.Target))
	b.verify(ctx, x, until)
	if x.what.ID == 0 { // it does not last, so there is nothing to heal
		b.set(func() { x.healed = x.what.Done })
		b.x.c.stands.healed(b.left())
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
	b.heal(ctx, x)
	if !x.proof.Hit {
		b.verify(ctx, x, time.Time{}) // what ended in it, and what was counted, can still be seen
	}
}

// look says how the lab stands, or stood.
func (b *breaker) look(ctx context.Context) record.Lab {
	ctx, cancel := context.WithTimeout(ctx, lookBefore)
	defer cancel()
	if l, err := b.x.lab.Look(ctx); err == nil {
		return l
	}
	return b.x.before
}

// inject breaks it, also if the drill is interrupted in that moment: a fault that is half done must be known.
func (b *breaker) inject(ctx context.Context, x *broken) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), injectAtMost)
	defer cancel()
	what, err := x.injector.Inject(ctx)
	b.set(func() {
		x.what, x.injected = what, err == nil
		for _, m := range x.before.Members {
			if m.Name == what.Target || m.Host == what.Target {
				x.struck = append(x.struck, m)
			}
		}
	})
	return err
}

func (b *breaker) verify(ctx context.Context, x *broken, until time.Time) {
	limit := verifyAtMost
	switch {
	case until.IsZero():
		limit = verifyLate
	case !x.spec.Stay && x.spec.For > 0:
		limit = min(limit, max(time.Until(until), 0))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	proof, err := x.injector.Verify(ctx)
	b.set(func() {
		if proof.Hit || x.proof.Evidence == "" {
			x.proof = proof
		}
		if err != nil && !proof.Hit {
			x.problem = err.Error()
		}
	})
}

func (b *breaker) heal(ctx context.Context, x *broken) {
	ctx, cancel := context.WithTimeout(ctx, healAtMost)
	defer cancel()
	b.x.c.stands.enter(record.StageHealing)
	at, err := x.injector.Heal(ctx)
	b.set(func() {
		x.healed = at
		if err != nil {
			x.problem = "it could not be healed: " + err.Error()
		}
	})
	if err != nil {
		b.note("%s could not be healed: %v", x.spec.Strike, err)
		return
	}
	b.healed(x.spec.Strike.String() + " is healed")
}

// healed tells that a fault is undone.
func (b *breaker) healed(text string) {
	b.x.c.stands.healed(b.left())
	b.x.c.stands.told("heal", text)
}

// left is how many faults are in place still.
func (b *breaker) left() (n int) {
	for _, x := range b.list() {
		b.set(func() {
			if x.injected && x.healed.IsZero() {
				n++
			}
		})
	}
	return n
}

// healRest heals what had to stay until the audit.
func (b *breaker) healRest(ctx context.Context) {
	for _, x := range b.list() {
		if x.spec.Stay && x.injected && x.healed.IsZero() {
			b.heal(ctx, x)
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
	x := &broken{spec: spec.Fault{Strike: externalFault}}
	var err error
	if x.injector, err = fault.External(externalFault.String(), true, b.x.c.o.Mark); err != nil {
		return
	}
	if x.what, err = x.injector.Inject(ctx); err != nil {
		return // nobody marked anything
	}
	x.injected = true
	x.proof, _ = x.injector.Verify(ctx)
	b.add(x)
	b.x.tell("fault", "marked from outside", nil)
	b.x.c.stands.enter(record.StageBroken)
	b.x.c.stands.told("fault", "the moment is marked; mark once more when it is healed")
	if at, err := x.injector.Heal(ctx); err == nil {
		b.set(func() { x.healed = at })
		b.x.tell("heal", "marked from outside", nil)
		b.healed("the end is marked")
	}
}

func (b *breaker) add(x *broken) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, x)
}

func (b *breaker) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func (b *breaker) note(format string, a ...any) { b.x.c.o.Progress.Note(fmt.Sprintf(format, a...)) }

// list is what was broken, in order of time; what could not be broken comes last.
func (b *breaker) list() []*broken {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.Clone(b.done)
	slices.SortStableFunc(list, func(x, y *broken) int {
		if x.injected != y.injected {
			if x.injected {
				return -1
			}
			return 1
		}
		return x.what.Asked.Compare(y.what.Asked)
	})
	return list
}

// faults are what was broken, on the clock of the run.
func (b *breaker) faults() []record.DrillFault {
	list := []record.DrillFault{}
	for _, x := range b.list() {
		b.mu.Lock()
		f := record.DrillFault{Fault: x.spec.Strike, Target: cmp.Or(x.what.Target, x.spec.Strike.String()), Manner: x.what.Manner,
			Shards: b.x.shardsOf(x), Hit: x.proof.Hit, Evidence: x.proof.Evidence, Problem: x.problem}
		if x.injected && !b.clock.zero.IsZero() {
			f.Injected, f.Done = b.clock.at(x.what.Asked), b.clock.at(x.what.Done)
			if !x.healed.IsZero() {
				f.Healed = b.clock.at(x.healed)
			}
		}
		b.mu.Unlock()
		list = append(list, f)
	}
	return list
}

// unseats says whether a primary that it struck had to stop being one; of what somebody else broke that is not known.
func (x *broken) unseats() bool {
	a := action.Find(x.spec.Strike.Action)
	return a != nil && a.Unseats()
}

// takesDown says whether what it struck was down or away.
func (x *broken) takesDown() bool {
	a := action.Find(x.spec.Strike.Action)
	return a != nil && a.TakesDown
}
