package topology

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

func TestHistoryLeft(t *testing.T) {
	h := history{timeline: 4, forks: []engine.Fork{{Timeline: 1, At: 100}, {Timeline: 3, At: 200}}} // it never was on 2
	for _, c := range []struct {
		timeline int64
		lsn      engine.LSN
		left     bool
	}{
		{4, 50, false}, // the file of a timeline begins with what earlier ones have in it
		{4, 900, false},
		{3, 200, false}, // up to the fork, and not gone over yet
		{3, 201, true},
		{2, 10, true},
		{1, 99, false},
		{1, 101, true},
		{5, 1, false},
	} {
		if got := h.diverges(engine.Position{Standby: true, Timeline: c.timeline, LSN: c.lsn}); got != c.left {
			t.Errorf("timeline %d at %v: %v", c.timeline, c.lsn, got)
		}
	}
}

func TestFurthest(t *testing.T) {
	at := func(timeline int64, lsn engine.LSN) engine.Position {
		return engine.Position{Standby: true, Timeline: timeline, LSN: lsn}
	}
	for _, c := range []struct {
		all  []engine.Position
		want int
	}{
		// As it was seen: both had the same timeline, one said an old one, and the one with less was promoted.
		{[]engine.Position{at(2, 0x3BBEE10), at(3, 0x3BBE978)}, 0},
		{[]engine.Position{at(3, 0x3BBE978), at(3, 0x3BBEE10)}, 1},
		{[]engine.Position{at(1, 100), at(2, 100)}, 1},
		{[]engine.Position{at(2, 100), at(1, 100)}, 0},
	} {
		if got := furthest(c.all); got != c.want {
			t.Errorf("%+v: %d", c.all, got)
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
		if err := u.pg(old).Kill(); err != nil {
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

// A standby that has what the new primary has not does not count, is shown with a problem, and gives it up.
func aheadOfThePrimary(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	var ahead, behind *pgMember
	for _, m := range u.members {
		if m.plan.Name != old {
			ahead, behind = m, ahead
		}
	}
	u.op.Lock()
	if err := behind.node.Follow(t.Context(), engine.Upstream{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it still streams", func() error {
		at, err := behind.node.Position(t.Context())
		if err == nil && at.Receiving {
			err = fmt.Errorf("%+v", at)
		}
		return err
	})
	if err := insert(t.Context(), u.collection(t, "majority", "ahead"), 1, patience); err != nil {
		t.Fatal(err)
	}
	if err := u.pg(old).Kill(); err != nil {
		t.Fatal(err)
	}
	// What no supervisor should do: the one with less becomes primary.
	u.endGateways()
	err := behind.node.Promote(t.Context())
	if err == nil {
		u.fence(u.member(old))
		err = u.recordPrimary(t.Context(), behind)
	}
	if err == nil {
		err = u.redirect(t.Context(), behind, []*pgMember{ahead})
	}
	u.mu.Lock()
	diverged, problem, standbys := ahead.diverged, ahead.problem, u.liveStandbys()
	u.mu.Unlock()
	u.op.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if !diverged || !strings.Contains(problem, "must be rewound") || len(standbys) > 0 {
		t.Errorf("diverged %v, problem %q, %d standbys count", diverged, problem, len(standbys))
	}
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	checkLost(t, u, ahead.plan.Name, since, 1)
}

// No password is in a log, whatever happened before.
func noSecretsInLogs(t *testing.T, u *underTest) {
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
			if n.Kind() == "postgres" && !strings.Contains(string(data), "primary_conninfo") {
				t.Errorf("%s does not say whom it followed, so it proves nothing", file)
			}
		}
	}
}
