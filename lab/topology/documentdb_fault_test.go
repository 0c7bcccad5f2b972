package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Standbys that receive nothing make the loss certain: the level balanced acknowledges, a majority waits. Patroni would
// see that they do not receive, and promote none of them, so the Patroni of the primary is stopped meanwhile.
func loss(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	balanced, majority := u.collection(t, "balanced", "loss"), u.collection(t, "majority", "loss")
	if err := insert(t.Context(), majority, 0, patience); err != nil {
		t.Fatal(err)
	}
	signal(t, u.pg(old), "patroni", syscall.SIGSTOP)
	for _, m := range u.members {
		if m.plan.Name != old {
			signal(t, m.node, "postgres: rs0: startup", syscall.SIGSTOP) // which would start the receiver again
			signal(t, m.node, "postgres: rs0: walreceiver", syscall.SIGTERM)
		}
	}
	eventually(t, "standbys still stream", func() error {
		list, err := u.pg(old).Replication(t.Context())
		if err == nil && len(list) > 0 {
			err = fmt.Errorf("%+v", list)
		}
		return err
	})
	w := &writer{next: 1}
	for range 20 {
		if err := insert(t.Context(), balanced, w.next, patience); err != nil {
			t.Fatal(err)
		}
		w.acked = append(w.acked, w.next)
		w.next++
	}
	if err := insert(t.Context(), majority, 1000, time.Second); err == nil {
		t.Error("a write was acknowledged by a majority that does not receive anything")
	}
	if err := u.pg(old).KillServer(); err != nil {
		t.Fatal(err)
	}
	signal(t, u.pg(old), "patroni", syscall.SIGCONT)
	for _, m := range u.members {
		if m.plan.Name != old {
			signal(t, m.node, "postgres: rs0: startup", syscall.SIGCONT)
		}
	}
	now := u.promoted(t, old)
	if lost := w.missing(t, balanced); len(lost) != len(w.acked) {
		t.Errorf("%d of %d writes that nobody had received are gone", len(lost), len(w.acked))
	}
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	checkLost(t, u, old, since, len(w.acked))
	w.acked = []int{0}
	if lost := w.missing(t, majority); len(lost) > 0 {
		t.Errorf("%s lost what a majority had acknowledged", now)
	}
}

// signal sends a signal to the processes of a member whose command line has a text.
func signal(t *testing.T, node *engine.Postgres, text string, sig syscall.Signal) {
	t.Helper()
	sent := 0
	for _, pid := range process.Family(node.Status().Processes[0].PID)[1:] {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if strings.Contains(string(line), text) && syscall.Kill(pid, sig) == nil {
			sent++
		}
	}
	if sent == 0 {
		t.Fatalf("%s has no process %q", node.Name(), text)
	}
}

// checkLost checks what was told and kept of what a former primary gave up.
func checkLost(t *testing.T, u *underTest, member string, since, atLeast int) {
	t.Helper()
	var back *event
	for _, e := range u.told("member", since) {
		if e.data["member"] == member && e.data["role"] == "secondary" {
			back = &e
		}
	}
	if back == nil {
		t.Fatal("its return was not told")
	}
	bytes, _ := strconv.Atoi(back.data["diverged_bytes"])
	transactions, _ := strconv.Atoi(back.data["diverged_transactions"])
	if bytes <= 0 || transactions < atLeast {
		t.Errorf("told: %+v", *back)
	}
	t.Log(back.text)
	var kept engine.Lost
	data, err := os.ReadFile(filepath.Join(back.data["kept"], "lost.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &kept); err != nil || kept.Bytes != int64(bytes) || kept.Fork == "" {
		t.Errorf("kept: %+v, error %v", kept, err)
	}
	segments, _ := filepath.Glob(filepath.Join(back.data["kept"], "0000*"))
	if len(segments) == 0 || !strings.HasPrefix(back.data["kept"], u.pg(member).DataDir()) {
		t.Errorf("segments %v in %s", segments, back.data["kept"])
	}
}

// A planned hand-over loses nothing at any level, not even at the weakest.
func stepDown(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	c := u.collection(t, "balanced", "stepdown")
	w := &writer{}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.write(ctx, c) }()
	eventually(t, "no writes", func() error {
		n, err := c.CountDocuments(t.Context(), map[string]any{})
		if err == nil && n < 50 {
			err = fmt.Errorf("%d documents", n)
		}
		return err
	})
	begun := time.Now()
	if err := u.StepDown(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Logf("handed over in %v", time.Since(begun).Round(time.Millisecond))
	time.Sleep(100 * time.Millisecond)
	stop()
	<-done
	u.whole(t)
	if p, ok := u.promotion(old, since); !ok || p.data["planned"] != "true" {
		t.Errorf("promotions: %+v", u.told("promotion", since))
	}
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Errorf("%d of %d acknowledged writes are gone: %v", len(lost), len(w.acked), lost)
	}
}

// A primary that is paused with its Patroni is replaced when its lease has run out. When it continues, its Patroni
// demotes it.
func pausedPrimary(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	if err := u.pg(old).Pause(); err != nil {
		t.Fatal(err)
	}
	u.promoted(t, old)
	if err := u.pg(old).Resume(); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	if _, ok := u.promotion(old, since); !ok {
		t.Errorf("promotions: %+v", u.told("promotion", since))
	}
}

// A primary whose Patroni is killed accepts writes after its lease has run out, as the new primary does, until its
// Patroni runs again. A majority does not acknowledge them.
func patroniKilled(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	if err := u.pg(old).KillPatroni(); err != nil {
		t.Fatal(err)
	}
	u.promoted(t, old)
	eventually(t, "two primaries were not told", func() error {
		for _, m := range u.Describe(t.Context(), Roles) {
			if m.Name == old && m.Role == "primary" && m.Problem != "" {
				return nil
			}
		}
		return fmt.Errorf("%+v", u.told("problem", since))
	})
	if err := u.pg(old).StartPatroni(t.Context()); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	if _, ok := u.promotion(old, since); !ok {
		t.Errorf("promotions: %+v", u.told("promotion", since))
	}
}

// Without a majority nothing is promoted; when a majority is back, it is.
func doubleFailure(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	var standby string
	for _, m := range u.members {
		if m.plan.Name != old {
			standby = m.plan.Name
		}
	}
	c := u.collection(t, "majority", "double")
	if err := insert(t.Context(), c, 1, patience); err != nil {
		t.Fatal(err)
	}
	// At once: a primary that notices the loss of the standby asks only the other one for its writes, which could then be
	// promoted.
	killed := make(chan error)
	for _, name := range []string{standby, old} {
		go func() { killed <- u.pg(name).KillServer() }()
	}
	if err := errors.Join(<-killed, <-killed); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the members was not told", func() error {
		if n := len(u.told("member", since)); n < 2 {
			return fmt.Errorf("%d were told", n)
		}
		return nil
	})
	if p := u.told("promotion", since); len(p) > 0 {
		t.Errorf("promoted without a majority: %+v", p)
	}
	if err := u.Return(t.Context(), standby); err != nil {
		t.Fatal(err)
	}
	u.promoted(t, old)
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	w := &writer{acked: []int{1}}
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Error("what a majority acknowledged is gone")
	}
}

// All members fail and return: one of them is primary again, with all that was acknowledged.
func allFail(t *testing.T, u *underTest) {
	u.whole(t)
	c := u.collection(t, "majority", "all")
	if err := insert(t.Context(), c, 1, patience); err != nil {
		t.Fatal(err)
	}
	for _, m := range u.members {
		if err := m.node.KillServer(); err != nil {
			t.Fatal(err)
		}
	}
	if err := wait.Each(u.members, func(m *pgMember) error { return u.Return(t.Context(), m.plan.Name) }); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	w := &writer{acked: []int{1}}
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Error("what a majority acknowledged is gone")
	}
}

// A member that lost its volume gets all data from the primary.
func emptyVolume(t *testing.T, u *underTest) {
	primary, since := u.whole(t), u.now()
	var m *pgMember
	for _, o := range u.members {
		if o.plan.Name != primary {
			m = o
		}
	}
	if err := m.node.Stop(t.Context()); err != nil { // with its Patroni
		t.Fatal(err)
	}
	if err := os.RemoveAll(m.node.DataDir()); err != nil {
		t.Fatal(err)
	}
	if err := u.Return(t.Context(), m.plan.Name); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	for _, e := range u.told("member", since) {
		if e.data["member"] == m.plan.Name && e.data["cloned"] == "true" {
			return
		}
	}
	t.Errorf("the copy was not told: %+v", u.told("member", since))
}

// A hand-over for which no standby is ready changes nothing.
func stepDownInVain(t *testing.T, u *underTest) {
	primary := u.whole(t)
	for _, m := range u.members {
		if m.plan.Name != primary {
			if err := m.node.Pause(); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := u.collection(t, "balanced", "vain")
	if err := insert(t.Context(), c, 1, patience); err != nil { // what they have to receive
		t.Fatal(err)
	}
	if err := u.StepDown(t.Context(), ""); err == nil {
		t.Error("handed over to a member that stands still")
	}
	if err := insert(t.Context(), c, 2, patience); err != nil {
		t.Errorf("no writes after a hand-over that was not done: %v", err)
	}
	for _, m := range u.members {
		if err := m.node.Resume(); err != nil {
			t.Fatal(err)
		}
	}
}

// The end of etcd's leader is an event, because the lease is renewed.
func etcdLeaderKilled(t *testing.T, u *underTest) {
	u.whole(t)
	since := u.now()
	var old *engine.Etcd
	eventually(t, "etcd has no leader", func() error {
		u.mu.Lock()
		defer u.mu.Unlock()
		if old = u.etcdLeader; old == nil {
			return errors.New("none was seen")
		}
		return nil
	})
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next leader of etcd was not told", func() error {
		for _, e := range u.told("etcd", since) {
			if e.data["from"] == old.Name() && e.data["member"] != old.Name() {
				return nil
			}
		}
		return fmt.Errorf("%+v", u.told("etcd", since))
	})
	if err := u.Return(t.Context(), old.Name()); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
}

// A member that is started again on another host has another address: the other members and the gateways find it.
func memberMoves(t *testing.T, u *underTest) {
	m := u.member(u.whole(t))
	if err := m.node.KillServer(); err != nil {
		t.Fatal(err)
	}
	before := m.node.Address()
	if err := m.node.Move(u.hosts["gateway1"]); err != nil {
		t.Fatal(err)
	}
	if err := u.Return(t.Context(), m.plan.Name); err != nil {
		t.Fatal(err)
	}
	if m.node.Address() == before {
		t.Errorf("it still has the address %s", before)
	}
	u.whole(t)
	for _, g := range u.gateways {
		if !slices.Contains(g.node.Members(), m.node.Upstream()) {
			t.Errorf("%s does not have the address %s", g.plan.Name, m.node.Address())
		}
	}
	if err := insert(t.Context(), u.collection(t, "majority", "moved"), 1, patience); err != nil {
		t.Error(err)
	}
}

// Nothing that was started listens on another address than its host's.
func listensOnItsAddress(t *testing.T, u *underTest) {
	other := "127.0.0.2" // on Linux all of 127.0.0.0/8 is this machine
	for _, n := range u.Nodes() {
		_, port, err := net.SplitHostPort(n.Address())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(other, port), time.Second)
		if err == nil {
			conn.Close()
			t.Errorf("%s listens on %s too", n.Name(), other)
		}
	}
}

// Failovers one soon after another, while writes are acknowledged: the next primary is killed as soon as the members
// stream from it, when what PostgreSQL's control files say of timelines is old still.
func failoversInARow(t *testing.T, u *underTest) {
	c := u.collection(t, "majority", "row")
	w := &writer{}
	u.whole(t)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() { w.write(ctx, c) })
	for range 5 {
		old := u.whole(t)
		before, err := c.CountDocuments(t.Context(), map[string]any{})
		if err == nil {
			eventually(t, "no writes", func() error {
				n, err := c.CountDocuments(t.Context(), map[string]any{})
				if err == nil && n < before+5 {
					err = fmt.Errorf("%d documents", n)
				}
				return err
			})
		}
		if err := u.pg(old).KillServer(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s in place of %s", u.promoted(t, old), old)
		if err := u.Return(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	writing.Wait()
	u.whole(t)
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Errorf("%d of %d acknowledged writes are gone: %v", len(lost), len(w.acked), lost)
	}
	t.Logf("%d writes were acknowledged by a majority", len(w.acked))
}

// Members are killed at random times, again while they return, also two at a time: when all are back, all that a
// majority acknowledged is there.
func randomKills(t *testing.T, u *underTest) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c := u.collection(t, "majority", "random")
	w := &writer{}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { w.write(ctx, c) })
	for range 6 {
		for _, i := range r.Perm(len(u.members))[:1+r.IntN(2)] {
			m := u.members[i]
			if err := m.node.KillServer(); err != nil {
				t.Fatal(err)
			}
			all.Go(func() { // it may be killed again, and is returned in the end in any case
				limit, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_ = u.Return(limit, m.plan.Name)
			})
		}
		time.Sleep(time.Duration(r.IntN(2500)) * time.Millisecond)
	}
	stop()
	for _, m := range u.members {
		all.Go(func() {
			eventually(t, m.plan.Name+" does not return", func() error {
				limit, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				return u.Return(limit, m.plan.Name)
			})
		})
	}
	all.Wait()
	u.whole(t)
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Errorf("%d of %d acknowledged writes are gone: %v", len(lost), len(w.acked), lost)
	}
	t.Logf("%d writes were acknowledged by a majority", len(w.acked))
}

// No password is in a log, whatever happened before.
func noSecretsInLogs(t *testing.T, u *underTest) {
	followed := false
	for _, n := range u.Nodes() {
		for _, file := range n.Logs() {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{u.secrets.Postgres, u.secrets.Client} {
				if secret != "" && strings.Contains(string(data), secret) {
					t.Errorf("%s has a password in it", file)
				}
			}
			followed = followed || n.Kind() == "postgres" && strings.Contains(string(data), "primary_conninfo")
		}
	}
	if !followed {
		t.Error("no log says whom a member followed, so this proves nothing")
	}
}
