package topology

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

func TestElect(t *testing.T) {
	v := func(name string, lsn engine.LSN) voter {
		return voter{&pgMember{plan: MemberPlan{Name: name}}, engine.Position{Standby: true, Timeline: 1, LSN: lsn}}
	}
	one := v("a", 10)
	for _, c := range []struct {
		name               string
		candidates, silent []voter
		want               string // of the error
	}{
		{"two answer", []voter{v("a", 10), v("b", 20)}, nil, ""},
		{"one answers, another one has less", []voter{v("a", 10)}, []voter{v("b", 10)}, ""},
		{"one answers, another one has more", []voter{v("a", 10)}, []voter{v("b", 11)}, "b is not consistent yet and has 1 bytes of WAL more"},
		{"one answers", []voter{v("a", 10)}, nil, "only 1 of 3"},
		{"one answers that was read from its disk before", []voter{one}, []voter{one}, "only 1 of 3"},
		{"nobody is consistent", nil, []voter{v("a", 10), v("b", 10)}, "consistent"},
	} {
		err := checkElection(c.candidates, c.silent, 2, 3)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// inconsistent makes a standby one that cannot be consistent without its primary: it is killed, and the end of its log,
// which its data have in them already, is taken away.
func (u *underTest) inconsistent(t *testing.T, primary, name string) {
	t.Helper()
	m := u.pg(name)
	for _, n := range []string{primary, name} { // the standby's is a restart point: what it applied is on its disk
		if err := u.pg(n).Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before, err := m.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// More log, of which data are written to the disk before it is killed: that moves the point of consistency.
	if err := insert(t.Context(), u.collection(t, "durable", "inconsistent"), int(before.LSN), patience); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has not applied what it needs", func() error {
		at, err := m.Applied(t.Context())
		if err == nil && at <= before.LSN {
			err = fmt.Errorf("it is at %v", at)
		}
		return err
	})
	if err := u.pg(primary).Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has no restart point", func() error {
		if err := m.Checkpoint(t.Context()); err != nil {
			return err
		}
		c, err := m.Consistent(t.Context())
		if err == nil && c <= before.LSN {
			err = fmt.Errorf("it is consistent at %v", c)
		}
		return err
	})
	consistent, err := m.Consistent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	cutLog(t, m, consistent-64)
}

// cutLog writes zeros over the log of a stopped member from a position on, as a disk that lost it.
func cutLog(t *testing.T, m *engine.Postgres, from engine.LSN) {
	t.Helper()
	const size = 16 << 20
	files, err := filepath.Glob(filepath.Join(m.DataDir(), "postgres", "pg_wal", "????????????????????????"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the log is %v, error %v", files, err)
	}
	cut := false
	for _, name := range files {
		var timeline, high, low uint64
		if _, err := fmt.Sscanf(filepath.Base(name), "%08X%08X%08X", &timeline, &high, &low); err != nil {
			continue
		}
		begin := engine.LSN(high<<32 + low*size)
		if begin+size <= from {
			continue
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		offset := int64(max(begin, from) - begin)
		_, err = f.WriteAt(make([]byte, size-offset), offset)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		cut = true
	}
	if !cut {
		t.Fatal("there was nothing to cut")
	}
}

// A member that runs and cannot be consistent is a voter: another one, which has at least as much, is promoted.
func inconsistentVotes(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	var names []string
	for _, m := range u.members {
		if m.plan.Name != old {
			names = append(names, m.plan.Name)
		}
	}
	c := u.collection(t, "majority", "votes")
	if err := insert(t.Context(), c, 1, patience); err != nil {
		t.Fatal(err)
	}
	u.inconsistent(t, old, names[0])
	if err := u.pg(old).Kill(); err != nil {
		t.Fatal(err)
	}
	var returning sync.WaitGroup
	returning.Go(func() {
		if err := u.Return(t.Context(), names[0]); err != nil {
			t.Error(err)
		}
	})
	if now := u.promoted(t, old); now != names[1] {
		t.Errorf("%s was promoted", now)
	}
	returning.Wait()
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	w := &writer{acked: []int{1}}
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Error("what a majority acknowledged is gone")
	}
	if _, ok := u.promotion(old, since); !ok {
		t.Errorf("promotions: %+v", u.told("promotion", since))
	}
}

// A member that runs, cannot be consistent and has more than the others is not passed over.
func inconsistentIsNotPassedOver(t *testing.T, u *underTest) {
	old := u.whole(t)
	var names []string
	for _, m := range u.members {
		if m.plan.Name != old {
			names = append(names, m.plan.Name)
		}
	}
	c := u.collection(t, "majority", "passed")
	u.op.Lock() // what is done to the standby now is not to be mended
	if err := u.pg(names[1]).Follow(t.Context(), engine.Upstream{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it still streams", func() error {
		at, err := u.pg(names[1]).Position(t.Context())
		if err == nil && at.Receiving {
			err = fmt.Errorf("%+v", at)
		}
		return err
	})
	if err := insert(t.Context(), c, 1, patience); err != nil { // acknowledged with names[0] alone
		t.Fatal(err)
	}
	u.inconsistent(t, old, names[0])
	since := u.now()
	if err := u.pg(old).Kill(); err != nil {
		t.Fatal(err)
	}
	u.op.Unlock()
	var returning sync.WaitGroup
	returning.Go(func() {
		if err := u.Return(t.Context(), names[0]); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "it was not told who is in the way", func() error {
		for _, e := range u.told("problem", since) {
			if strings.Contains(e.text, names[0]+" is not consistent yet and has ") {
				return nil
			}
		}
		return fmt.Errorf("problems: %+v", u.told("problem", since))
	})
	if p := u.told("promotion", since); len(p) > 0 {
		t.Errorf("promoted past a member that has more: %+v", p)
	}
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	returning.Wait()
	u.whole(t)
	w := &writer{acked: []int{1}}
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Error("what a majority acknowledged is gone")
	}
}

// A primary whose disk lost log that its standbys have does not lead again.
func lyingPrimary(t *testing.T, u *underTest) {
	old := u.whole(t)
	c := u.collection(t, "majority", "lied")
	w := &writer{}
	add := func() {
		if err := insert(t.Context(), c, w.next, patience); err != nil {
			t.Fatal(err)
		}
		w.acked = append(w.acked, w.next)
		w.next++
	}
	add()
	if err := u.pg(old).Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, err := u.pg(old).Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		add()
	}
	since := u.now()
	u.op.Lock() // it is back before another one is promoted
	if err := u.pg(old).Kill(); err != nil {
		t.Fatal(err)
	}
	cutLog(t, u.pg(old), at.LSN+1)
	seen := u.lostLog(t.Context(), u.member(old))
	u.op.Unlock()
	if !seen {
		t.Fatal("nobody saw what it lost")
	}
	u.promoted(t, old)
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Errorf("%d acknowledged writes are gone", len(lost))
	}
	told := u.told("problem", since)
	if len(told) == 0 || !strings.Contains(told[0].text, old+" returned without ") || told[0].data["lost_bytes"] == "" {
		t.Errorf("problems: %+v", told)
	} else {
		t.Log(told[0].text)
	}
	for _, e := range u.told("member", since) {
		if e.data["member"] == old && e.data["cloned"] == "true" {
			return
		}
	}
	t.Errorf("its data were not copied anew: %+v", u.told("member", since))
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
			if err := m.node.Kill(); err != nil {
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

// Two members are promoted one after the other and give their timelines the same number: the first one is not taken for
// one that is on the way of the second.
func sameNumberTwice(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	var first, second *pgMember
	for _, m := range u.members {
		if m.plan.Name != old {
			first, second = m, first
		}
	}
	c := u.collection(t, "majority", "twice")
	if err := insert(t.Context(), c, 1, patience); err != nil {
		t.Fatal(err)
	}
	u.op.Lock()
	u.endGateways()
	u.fence(u.member(old))
	err := second.node.Follow(t.Context(), engine.Upstream{}) // it does not hear of the promotion
	if err == nil {
		err = first.node.Promote(t.Context())
	}
	if err == nil {
		err = first.node.Kill()
	}
	if err == nil {
		err = second.node.Promote(t.Context())
	}
	if err == nil {
		err = u.recordPrimary(t.Context(), second)
	}
	if err == nil {
		err = u.redirect(t.Context(), second, nil)
	}
	u.op.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{first.plan.Name, old} {
		if err := u.Return(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	u.whole(t)
	for _, e := range u.told("member", since) {
		if e.data["member"] == first.plan.Name && e.data["cloned"] == "true" {
			return
		}
	}
	t.Errorf("what it led was taken for the primary's: %+v", u.told("member", since))
}

// cutAtFork writes zeros over what a stopped member has of the newest timeline.
func (u *underTest) cutAtFork(m *pgMember) error {
	const size = 16 << 20
	fork := u.history.forks[len(u.history.forks)-1].At
	file := fmt.Sprintf("%08X%08X%08X", u.history.timeline, uint64(fork)>>32, uint64(fork)%(1<<32)/size)
	f, err := os.OpenFile(filepath.Join(m.node.DataDir(), "postgres", "pg_wal", file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	cut := int64(fork%size) &^ 8191 // the page in which the timeline begins
	_, err = f.WriteAt(make([]byte, size-cut), cut)
	return errors.Join(err, f.Close())
}

// A standby that is killed while it receives the segment of a new timeline anew has only a part of that. It comes back
// without its primary all the same.
func killedAtTheFork(t *testing.T, u *underTest) {
	old := u.whole(t)
	for id := range 50 { // some pages of log before the fork
		if err := insert(t.Context(), u.collection(t, "majority", "fork"), id, patience); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.pg(old).Kill(); err != nil {
		t.Fatal(err)
	}
	now := u.promoted(t, old)
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	u.op.Lock() // nothing is to be promoted meanwhile
	var standby *pgMember
	for _, m := range u.members {
		if m.plan.Name != now && m.plan.Name != old {
			standby = m
		}
	}
	eventually(t, "it has not received how the timeline begins", func() error {
		if missing := u.waitCaughtUp(t.Context(), standby); missing != 0 {
			return fmt.Errorf("%d bytes are missing", missing)
		}
		return nil
	})
	for _, m := range []*pgMember{standby, u.member(now)} {
		if err := m.node.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := standby.node.LogOnDisk(t.Context()); err != nil || at.Timeline != u.history.timeline {
		t.Errorf("its log, in which timeline %d has begun, ends on timeline %d; error %v", u.history.timeline, at.Timeline, err)
	}
	err := u.cutAtFork(standby)
	u.op.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Return(t.Context(), standby.plan.Name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it does not answer", func() error {
		_, err := standby.node.Probe(t.Context())
		return err
	})
	if err := u.Return(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	if log, err := os.ReadFile(standby.node.Logs()[0]); err != nil || strings.Contains(string(log), "according to history file") {
		t.Errorf("PostgreSQL ended because of the file that was cut; error %v", err)
	}
}
