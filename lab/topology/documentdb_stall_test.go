package topology

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// A primary is not given up because this process stood still: first that is noticed and forgiven.
func TestStandingStillIsNotSilence(t *testing.T) {
	now := time.Now()
	m := &pgMember{plan: MemberPlan{Name: "rs0-1"}, node: &engine.Postgres{}, answered: now.Add(-5 * time.Second)}
	c := &documentDB{members: []*pgMember{m}, primary: m, timeout: 3 * time.Second, watching: true,
		lastTick: now.Add(-4 * time.Second)}
	if why, _, lost := c.primaryLost(); lost || !c.wasPaused() {
		t.Errorf("after 4 s without a beat the primary is lost: %t %s; stood still: %t", lost, why, c.wasPaused())
	}
	c.lastTick = time.Now()
	if _, _, lost := c.primaryLost(); !lost || c.wasPaused() {
		t.Errorf("it was silent for 5 s while time went by; lost: %t, stood still: %t", lost, c.wasPaused())
	}
	c.restartTimeouts()
	if c.wasPaused() {
		t.Error("it was forgiven and stands still")
	}
}

// A return is tried again for as long as it fails because a primary went away, and a few times for other reasons.
func TestReturnIsTriedAgain(t *testing.T) {
	other := errors.New("no space left on device")
	for _, x := range []struct {
		name  string
		fails []error // of one attempt after the other; nil is success
		tries int
		want  string // of the error
	}{
		{"at once", []error{nil}, 1, ""},
		{"the primary goes away again and again", []error{errPrimaryLost, fmt.Errorf("pg_rewind was ended: %w", errPrimaryLost), errPrimaryLost, errPrimaryLost, nil}, 5, ""},
		{"two other failures", []error{other, other, nil}, 3, ""},
		{"it cannot be", []error{other, errPrimaryLost, other, other, nil}, 4, other.Error()},
		{"the lab goes down", []error{errPrimaryLost, errStopping, nil}, 2, errStopping.Error()},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &pgMember{plan: MemberPlan{Name: "rs0-1"}, node: &engine.Postgres{}}
				c := &documentDB{members: []*pgMember{m}, primary: m}
				tries := 0
				err := c.tryAgain(t.Context(), "rs0-2", func() (bool, error) {
					tries++
					return x.fails[tries-1] == nil, x.fails[tries-1]
				})
				if tries != x.tries || (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
					t.Errorf("after %d attempts: %v; want %d and %q", tries, err, x.tries, x.want)
				}
			})
		})
	}
}

// A return ends with what it waited for when its time is over.
func TestWhyEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	said := errors.New("signal: killed")
	if err := orPrimaryLost(ctx, said); err != said {
		t.Errorf("%v", err)
	}
	cancel(errPrimaryLost)
	if err := orPrimaryLost(ctx, said); !errors.Is(err, errPrimaryLost) || !errors.Is(err, said) {
		t.Errorf("%v", err)
	}
	if err := orPrimaryLost(ctx, nil); err != nil {
		t.Errorf("%v", err)
	}
}

// Processes stand still for seconds, as on a disk or a machine that does, while others are killed and return: every
// return succeeds, the set heals by itself, and all that a majority acknowledged is there.
func standStill(t *testing.T, u *underTest) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c := u.collection(t, "majority", "still")
	w := &writer{}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { w.write(ctx, c) })
	for round := range 2 {
		eventually(t, "no writes", func() error {
			n, err := c.CountDocuments(t.Context(), map[string]any{})
			if err == nil && n < int64(20*(round+1)) {
				err = fmt.Errorf("%d documents", n)
			}
			return err
		})
		order := r.Perm(len(u.members))
		killed := u.members[order[0]]
		if err := killed.node.Kill(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		still := []engine.Node{u.gateways[r.IntN(len(u.gateways))].node}
		for _, i := range order[:1+r.IntN(len(order))] {
			still = append(still, u.members[i].node)
		}
		for _, n := range still {
			all.Go(func() { freeze(n, 4*time.Second+time.Duration(seed%4000)*time.Millisecond) })
		}
		limit, cancel := context.WithTimeout(t.Context(), patience)
		if err := u.Return(limit, killed.plan.Name); err != nil {
			t.Errorf("%s did not return while %d servers stood still: %v", killed.plan.Name, len(still), err)
		}
		cancel()
	}
	stop()
	all.Wait()
	u.whole(t)
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Errorf("%d of %d acknowledged writes are gone: %v", len(lost), len(w.acked), lost)
	}
	t.Logf("%d writes were acknowledged by a majority", len(w.acked))
}

// freeze stops the processes that a server has now, without the cluster's knowledge, and lets those go on that are
// left.
func freeze(n engine.Node, d time.Duration) {
	pids := n.Pids()
	handles := make([]*os.Process, 0, len(pids))
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.SIGSTOP) == nil {
			handles = append(handles, p)
		}
	}
	time.Sleep(d)
	for _, p := range handles { // a handle is of that process and no later one of its number
		_ = p.Signal(syscall.SIGCONT)
		_ = p.Release()
	}
}

// A standby that was asked to lead, and did, but of which nobody heard that it does, is made the primary in the end.
func electedUnheard(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	c := u.collection(t, "majority", "unheard")
	if err := insert(t.Context(), c, 1, patience); err != nil {
		t.Fatal(err)
	}
	u.op.Lock()
	u.endGateways()
	err := u.pg(old).Kill()
	var best *pgMember
	if err == nil {
		best, _, err = u.chooseStandby(t.Context())
	}
	if err == nil {
		u.mu.Lock()
		u.elected = best
		u.mu.Unlock()
		err = best.node.Promote(t.Context()) // and nobody is told
	}
	u.op.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if now := u.promoted(t, old); now != best.plan.Name {
		t.Errorf("%s is primary, and %s was asked to be", now, best.plan.Name)
	}
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	if _, ok := u.promotion(old, since); !ok {
		t.Errorf("promotions: %+v", u.told("promotion", since))
	}
	w := &writer{acked: []int{1}}
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Error("what a majority acknowledged is gone")
	}
}
