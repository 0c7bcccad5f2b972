package topology

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// Standbys that receive nothing make the loss certain: the level balanced acknowledges, a majority waits.
func loss(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	balanced, majority := u.collection(t, "balanced", "loss"), u.collection(t, "majority", "loss")
	if err := insert(t.Context(), majority, 0, patience); err != nil {
		t.Fatal(err)
	}
	u.op.Lock() // what is done to the standbys now is not to be mended
	for _, m := range u.members {
		if m.plan.Name != old {
			if err := m.node.Follow(t.Context(), engine.Upstream{}); err != nil {
				t.Fatal(err)
			}
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
	if err := u.pg(old).Kill(); err != nil {
		t.Fatal(err)
	}
	u.op.Unlock()
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

// A primary that stands still is replaced, and can do nothing when it is let go on; then it joins again by itself.
func pausedPrimary(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	if err := u.pg(old).Pause(); err != nil {
		t.Fatal(err)
	}
	u.promoted(t, old)
	if u.pg(old).Status().Running {
		t.Error("the old primary still runs, paused, beside the new one")
	}
	if err := u.pg(old).Resume(); err != nil {
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
	for _, name := range []string{standby, old} {
		if err := u.pg(name).Kill(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the lack of a majority was not told", func() error {
		if len(u.told("problem", since)) == 0 {
			return fmt.Errorf("no problem was told")
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

// All members fail, and the last primary is the first to come back: nothing was promoted, so it is primary again.
func allFail(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	names := []string{old}
	for _, m := range u.members {
		if m.plan.Name != old {
			names = append(names, m.plan.Name)
		}
		if err := m.node.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if err := u.Return(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	u.whole(t)
	if !u.toldMember(old, "primary", since) {
		t.Errorf("%s is not told to be primary again: %+v", old, u.told("member", since))
	}
}

// toldMember says whether a member's return in a role was told since a number.
func (u *underTest) toldMember(name, role string, since int) bool {
	for _, e := range u.told("member", since) {
		if e.data["member"] == name && e.data["role"] == role {
			return true
		}
	}
	return false
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
	if err := m.node.Kill(); err != nil {
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	err := u.StepDown(ctx, "")
	cancel()
	if err == nil {
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

// A primary that is started again on another host has another address: standbys and gateways follow.
func memberMoves(t *testing.T, u *underTest) {
	u.op.Lock() // the move is quicker than a promotion
	old := u.leader()
	if err := old.node.Kill(); err != nil {
		t.Fatal(err)
	}
	to := u.hosts["gateway1"]
	before := old.node.Address()
	if err := old.node.Move(to); err != nil {
		t.Fatal(err)
	}
	err := u.restartPrimary(t.Context(), old)
	u.op.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if old.node.Address() == before {
		t.Errorf("it still has the address %s", before)
	}
	u.whole(t)
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
