package drill

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// settleAtMost is how long a drill waits for members that are just starting or catching up before it refuses them.
const settleAtMost = 10 * time.Second

// lacking says what a deployment lacks before the first fault: members that are down, lag, or are neither primary nor
// secondary; volumes without all copies; faults that are in place already. It is empty for nothing.
func lacking(before record.Lab) string {
	var list []string
	for _, f := range before.Faults {
		list = append(list, fmt.Sprintf("%s %s is in place", f.Action, f.Target))
	}
	for _, m := range before.Members {
		if m.Kind == "mongod" && m.State == "running" && m.Role == "unknown" {
			list = append(list, m.Name+" is neither primary nor secondary (it starts, copies all data, or rolls back)")
		}
	}
	if text := notRestored(record.Lab{}, before, lagUnderLoad); text != "" {
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Refusal is why a drill with these faults does not begin in a state: what is missing, and which fault leaves a set
// without a majority. It is empty for nothing. voting is the number of members that vote, 0 if it is not known.
func Refusal(before record.Lab, faults []spec.Fault, voting int) string {
	return refusal(lacking(before), minority(before, faults, voting))
}

func refusal(lacked, minority string) string {
	return strings.Trim(lacked+"; "+minority, "; ")
}

// settle waits for members that are just starting or catching up, so that only what lasts is refused. The steps that
// follow report an error.
func (r *round) settle(ctx context.Context) {
	t := r.target
	if t.lab == nil {
		t.voting = t.queryVoting(ctx)
	}
	for end := time.Now().Add(settleAtMost); lacking(t.before) != "" && time.Now().Before(end); {
		if wait.Sleep(ctx, pollEvery) != nil {
			return
		}
		if t.lab == nil {
			if now, err := t.platform.Members(ctx); err == nil {
				t.before.Members = now
			}
		} else if now, err := t.lab.Describe(ctx, true); err == nil {
			t.before = now
		}
	}
}

// queryVoting returns how many members of the set vote; 0 if that is not known.
func (t *target) queryVoting(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, queryAtMost)
	defer cancel()
	c, closeIt, err := t.commander()
	if err != nil {
		return 0
	}
	defer closeIt()
	config, _ := server.QueryOwnConfig(ctx, c) // a router has none, and a user may lack the privilege
	return config.Voting
}

// wasInPlace reports whether a fault was in place before the load.
func wasInPlace(before record.Lab, f record.LabFault) bool {
	return slices.ContainsFunc(before.Faults, func(b record.LabFault) bool { return b.ID == f.ID })
}

// minority says which fault takes one member away and so leaves a set of mongod without a majority, because of the
// state before it; "" if none does. A server without others has no majority to lose, and several members at once are
// meant to take it. voting is the number of members that vote, 0 if it is not known: members that are not listed may be
// up. Which listed members do not vote is not known, so those that are up may be among them.
func minority(before record.Lab, faults []spec.Fault, voting int) string {
	for _, f := range faults {
		a := fault.Find(f.Action.Name)
		if a == nil || !a.TakesDown {
			continue
		}
		for _, name := range setsOf(before) {
			listed, up, hit := targetIn(before, name, f.Action.Target)
			votes := listed
			if voting > 0 {
				votes = voting
			}
			left := up - max(0, listed-votes) - 1
			if hit && votes > 1 && listed >= votes && left <= votes/2 {
				return fmt.Sprintf("%s leaves %d of %d members of %s, less than a majority", f.Action, left, votes, name)
			}
		}
	}
	return ""
}

// targetIn counts the members of a set that are listed and up, and says whether a target may be one of the latter.
func targetIn(before record.Lab, name, target string) (listed, up int, hit bool) {
	set, role := "", target
	if i := strings.LastIndexByte(target, '/'); i >= 0 {
		set, role = target[:i], target[i+1:]
	}
	on := 0 // the target, if it is a host
	for _, m := range before.Members {
		if m.Set != name || m.Kind != "mongod" {
			continue
		}
		listed++
		if m.State != "running" || m.Role == "unknown" {
			continue
		}
		up++
		if m.Host == target {
			on++
		}
		hit = hit || m.Name == target || (set == "" || set == name) && (role == "random" || role == m.Role)
	}
	return listed, up, hit || on == 1
}
