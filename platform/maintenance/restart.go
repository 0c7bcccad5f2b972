package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// stepDown makes a primary hand over, and waits for the next one.
func (e *event) stepDown(ctx context.Context) (func(context.Context) error, error) {
	old, err := e.target(ctx, e.fault.Action.Target)
	if err != nil {
		return nil, err
	}
	if old.Role != "primary" {
		return nil, fmt.Errorf("%s is not a primary, but a %s", old.Name, old.Role)
	}
	e.affects(old.Name, old)
	return func(ctx context.Context) error {
		err := e.deployment.onMember(ctx, old, func(c server.Commander) error {
			_, err := server.Query(ctx, c, server.StepDown())
			return err
		})
		if err := server.StepDownRefused(old.Name, err); err != nil {
			return refusal{err}
		}
		var now string
		err = e.deployment.await(ctx, "a primary after "+old.Name, func(members []record.LabMember) bool {
			m, ok := primaryOf(members, old.Set)
			now = m.Name
			return ok && m.Name != old.Name
		})
		if err == nil {
			e.saw("%s is the primary after %s", now, old.Name)
		}
		return err
	}, nil
}

// primaryOf finds the primary of a set.
func primaryOf(members []record.LabMember, set string) (p record.LabMember, ok bool) {
	for _, m := range inSet(members, set) {
		if m.Role == "primary" && (!ok || m.Term > p.Term) {
			p, ok = m, true
		}
	}
	return p, ok
}

// rollingRestart restarts the members of all sets, or of one, one after the other.
func (e *event) rollingRestart(ctx context.Context) (func(context.Context) error, error) {
	target := e.fault.Action.Target
	restarted := func(members []record.LabMember) (all []record.LabMember) {
		for _, set := range sets(members) {
			if target == fault.AllSets || target == set {
				all = append(all, inSet(members, set)...)
			}
		}
		return all
	}
	members, err := e.deployment.settled(ctx, func(members []record.LabMember) error {
		for _, m := range restarted(members) {
			if !serves(m) {
				return fmt.Errorf("%s is %s with the role %s, and a rolling restart needs all members. Start it first", m.Name,
					m.State, m.Role)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all, names := restarted(members), sets(members)
	if target != fault.AllSets {
		if len(all) == 0 {
			return nil, fmt.Errorf("there is no set %q (sets: %s)", target, strings.Join(names, ", "))
		}
		names = []string{target}
	}
	e.affects(strings.Join(names, ", "), all...)
	e.known.Unseats = len(all) > len(names)
	return func(ctx context.Context) error {
		r := &rolling{event: e, before: members, began: time.Now()}
		for _, set := range names {
			if err := r.set(ctx, set, inSet(members, set)); err != nil {
				return fmt.Errorf("%w (%d of %s restarted)", err, r.restarted, figure.Plural(len(all), "member"))
			}
		}
		return r.conclude(ctx, all)
	}, nil
}

// rolling is one rolling restart.
type rolling struct {
	*event
	before    []record.LabMember
	began     time.Time
	restarted int
	elections int
	leader    record.LabMember // the last known primary of the set
}

// set restarts the members of a set, the primary last.
func (r *rolling) set(ctx context.Context, set string, members []record.LabMember) error {
	r.leader, _ = primaryOf(members, set)
	slices.SortStableFunc(members, func(a, b record.LabMember) int {
		rank := map[string]int{"primary": 1}
		return rank[a.Role] - rank[b.Role]
	})
	for _, m := range members {
		if err := r.handOver(ctx, m, len(members)); err != nil {
			return err
		}
		if err := r.restart(ctx, m); err != nil {
			return err
		}
		r.restarted++
	}
	return nil
}

// handOver makes a member step down if it is the primary now and there is another member.
func (r *rolling) handOver(ctx context.Context, m record.LabMember, members int) error {
	if members < 2 {
		return nil
	}
	now, err := r.deployment.settled(ctx, answered)
	if err != nil {
		return err
	}
	if p, ok := primaryOf(now, m.Set); ok && p.Name == m.Name {
		down, err := r.deployment.Fault(spec.Fault{Action: spec.Action{Name: fault.StepDown, Target: m.Name}}, r.limit)
		if err != nil {
			return err
		}
		if _, err := down.Inject(ctx); err != nil {
			return err
		}
	}
	return r.follow(ctx, m.Set)
}

// follow waits until a set has a primary, and counts it if it is another one or has another term.
func (r *rolling) follow(ctx context.Context, set string) error {
	return r.deployment.await(ctx, "a primary of "+set, func(members []record.LabMember) bool {
		p, ok := primaryOf(members, set)
		switch {
		case !ok && r.leader.Name == "": // of a single server
			return true
		case !ok:
			return false
		case p.Name != r.leader.Name || p.Term > r.leader.Term:
			r.elections++
		}
		r.leader = p
		return true
	})
}

// restart stops a member and starts it again, and waits until it takes part in its set. A member that was stopped is
// started even if the drill is interrupted. A member that the platform starts by itself must be seen to end, because
// it takes part in its set before that too.
func (r *rolling) restart(ctx context.Context, m record.LabMember) error {
	by := Restart(r.deployment.Platform.Actions())
	stop, err := r.deployment.Platform.Fault(spec.Fault{Action: spec.Action{Name: by.Name, Target: m.Name}}, r.limit)
	if err != nil {
		return err
	}
	if _, err := stop.Inject(ctx); err != nil {
		return err
	}
	if !by.Lasts {
		seen, cancel := context.WithTimeout(ctx, endWithin)
		known, err := stop.Verify(seen)
		cancel()
		if err == nil && !known.Hit {
			err = fmt.Errorf("%s: the end of the member was not seen within %v: %s", m.Name, endWithin, known.Evidence)
		}
		if err != nil {
			return err
		}
	}
	always, cancel := wait.Must(ctx)
	defer cancel()
	starting := wait.Wait{Name: "start of " + m.Name, Limit: platform.DefaultLimit}
	if err := starting.Do(always, func(ctx context.Context) error {
		_, err := stop.Heal(ctx)
		return err
	}); err != nil {
		return err
	}
	err = r.deployment.await(ctx, m.Name+" to take part in its set", func(members []record.LabMember) bool {
		now, ok := named(members, m.Name)
		return ok && serves(now)
	})
	if err != nil {
		return err
	}
	return r.follow(ctx, m.Set)
}

// endWithin bounds the time until a member ends that the platform restarts, with the grace period of a pod.
const endWithin = 2 * time.Minute

// conclude adds the figures, and checks that the members have new processes.
func (r *rolling) conclude(ctx context.Context, all []record.LabMember) error {
	r.figure("members restarted", float64(r.restarted), "")
	r.figure("elections", float64(r.elections), "")
	now, err := r.deployment.settled(ctx, answered)
	if err != nil {
		return err
	}
	var fresh, old []string
	for _, was := range all {
		is, ok := named(now, was.Name)
		if ok && r.isNew(ctx, was, is) {
			fresh = append(fresh, was.Name)
		} else {
			old = append(old, fmt.Sprintf("%s had %s and has %s", was.Name, firstProcess(was), firstProcess(is)))
		}
	}
	if len(fresh) == len(all) {
		r.saw("the processes of %s are new", strings.Join(fresh, ", "))
	} else {
		r.known.Evidence = fmt.Sprintf("%d of %s have new processes; %s", len(fresh), figure.Plural(len(all), "member"),
			strings.Join(old, "; "))
	}
	return nil
}

func firstProcess(m record.LabMember) string {
	if len(m.PIDs) == 0 {
		return "no known process"
	}
	return fmt.Sprintf("the process %d", m.PIDs[0])
}

// isNew says whether a member has another process than before, by its id or by its uptime.
func (r *rolling) isNew(ctx context.Context, was, is record.LabMember) (yes bool) {
	if len(was.PIDs) > 0 && len(is.PIDs) > 0 {
		return was.PIDs[0] != is.PIDs[0]
	}
	_ = r.deployment.onMember(ctx, is, func(c server.Commander) error { // an error is no evidence
		up, err := server.QueryUptime(ctx, c)
		yes = err == nil && up < time.Since(r.began)
		return err
	})
	return yes
}
