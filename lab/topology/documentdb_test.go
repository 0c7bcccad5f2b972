package topology

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// step is one of those that a cluster goes through.
type step struct {
	name string
	do   func(*testing.T, *underTest)
}

// through takes a cluster through steps, after each of which it has to be whole.
func (u *underTest) through(t *testing.T, steps []step) {
	t.Helper()
	u.whole(t)
	for _, s := range steps {
		if !t.Run(s.name, func(t *testing.T) {
			s.do(t, u)
			u.whole(t)
		}) {
			return // what follows needs a whole cluster
		}
	}
}

// Sets of three members go through everything, side by side: bringing one up takes longer than some of what is tested,
// and most of it is waiting.
func TestDocumentDBSet(t *testing.T) {
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	t.Parallel()
	var all sync.WaitGroup
	for name, steps := range map[string][]step{
		"in order": {
			{"secrets", secretsAreKept},
			{"listens on its address only", listensOnItsAddress},
			{"each member is read alone", membersAreRead},
			{"a majority loses nothing", majorityLosesNothing},
			{"failovers one after another", failoversInARow},
			{"step-down", stepDown},
			{"a step-down that cannot be", stepDownInVain},
			{"the leader of etcd fails", etcdLeaderKilled},
			{"a member moves", memberMoves},
			{"no secrets in logs", noSecretsInLogs},
		},
		"in trouble": {
			{"what was not replicated is lost, kept and told", loss},
			{"two members fail and return", doubleFailure},
			{"all members fail and return", allFail},
			{"a member returns with an empty volume", emptyVolume},
			{"members are killed at random", randomKills},
			{"a paused primary", pausedPrimary},
			{"a primary without Patroni", patroniKilled},
			{"no secrets in logs", noSecretsInLogs},
		},
	} {
		all.Go(func() { // not parallel subtests: how many of those there are at a time is that of processors
			t.Run(name, func(t *testing.T) { bringUp(t, host.Plain, nil).through(t, steps) })
		})
	}
	all.Wait()
}

func secretsAreKept(t *testing.T, u *underTest) {
	files := 0
	err := filepath.WalkDir(filepath.Join(u.dir, "secrets"), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		if fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		if !d.IsDir() {
			files++
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d secrets, error %v", files, err)
	}
	for _, m := range u.members {
		fi, err := os.Stat(filepath.Join(m.node.DataDir(), "patroni.json"))
		if err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("settings of %s: %v, error %v", m.plan.Name, fi.Mode(), err)
		}
	}
}

// Several rounds: kill the primary while acknowledged writes go on, and look for all of them on the next one.
func majorityLosesNothing(t *testing.T, u *underTest) {
	c := u.collection(t, "majority", "majority")
	w := &writer{}
	for round := range 3 {
		old, since := u.whole(t), u.now()
		ctx, stop := context.WithCancel(t.Context())
		var writing sync.WaitGroup
		writing.Go(func() { w.write(ctx, c) })
		eventually(t, "no writes", func() error {
			n, err := c.CountDocuments(t.Context(), map[string]any{})
			if err == nil && n < int64(50*(round+1)) {
				err = fmt.Errorf("%d documents", n)
			}
			return err
		})
		if err := u.pg(old).KillServer(); err != nil {
			t.Fatal(err)
		}
		u.promoted(t, old)
		time.Sleep(200 * time.Millisecond) // some writes after it
		stop()
		writing.Wait()
		if lost := w.missing(t, c); len(lost) > 0 {
			t.Errorf("round %d: %d of %d acknowledged writes are gone: %v", round, len(lost), len(w.acked), lost)
		}
		if p, ok := u.promotion(old, since); !ok || p.data["away_ms"] == "" || p.data["timeline"] == "" {
			t.Errorf("promotions told: %+v", u.told("promotion", since))
		} else {
			t.Log(p.text)
		}
		if err := u.Return(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d writes were acknowledged by a majority, none was lost", len(w.acked))
}

// A single member has the levels that it can keep, and comes back as what it was.
func TestDocumentDBStandalone(t *testing.T) {
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	t.Parallel()
	u := bringUp(t, host.Plain, func(s *spec.Lab) { s.Topology = spec.Topology{Kind: spec.LabStandalone} })
	c := u.collection(t, "durable", "single")
	if err := insert(t.Context(), c, 1, patience); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the member is not known", func() error {
		for _, m := range u.Describe(t.Context(), Settings) {
			if m.Kind == "postgres" && (m.Role != "standalone" || m.Settings["fsync"] != "on") {
				return fmt.Errorf("%+v", m)
			}
		}
		return nil
	})
	if err := u.StepDown(t.Context(), ""); err == nil {
		t.Error("a single member handed over")
	}
	if err := u.pg("rs0-1").Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Primary(t.Context(), ""); err == nil {
		t.Error("a dead member is primary")
	}
	if err := u.Return(t.Context(), "rs0-1"); err != nil {
		t.Fatal(err)
	}
	w := &writer{acked: []int{1}}
	if lost := w.missing(t, c); len(lost) > 0 {
		t.Error("what was on the disk is gone")
	}
}
