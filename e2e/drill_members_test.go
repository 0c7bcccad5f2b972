//go:build !race

package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plimsoll-bench/plimsoll/record"
)

// memberStates returns the state of each member in the final read of a round. A discarded log, which is searched too,
// is not a member: it exists if the primary was killed before it sent its last writes.
func memberStates(r record.DrillRound) map[string]record.LedgerRead {
	by := map[string]record.LedgerRead{}
	for _, read := range r.Ledger.Reads {
		if !strings.HasPrefix(read.Source, "the old timeline of ") {
			by[read.Source] = read
		}
	}
	return by
}

// testAllAgree checks that the audit read all members directly and that they have the same documents.
func testAllAgree(t *testing.T, r record.DrillRound, members ...string) {
	t.Helper()
	by := memberStates(r)
	for _, m := range members {
		if got := by[m]; got.State != record.MemberAgrees || got.Documents != by["final"].Documents {
			t.Errorf("%s, read directly, is %+v; the final read is %+v", m, got, by["final"])
		}
	}
	if len(r.Unread) > 0 || len(by) != len(members)+1 {
		t.Errorf("%d members were read, and not read were %q", len(by)-1, r.Unread)
	}
}

// secondary returns a standby that receives from the primary.
func secondary(t *testing.T, name string) (standby string) {
	t.Helper()
	until(t, "a standby receives", func() bool {
		for _, m := range status(t, name).Members {
			if m.Role == "secondary" && m.State == "running" && m.LagBytes != nil {
				standby = m.Name
			}
		}
		return standby != ""
	})
	return standby
}

// standbys returns the number of members that receive from the primary.
func standbys(t *testing.T, name string) (n int) {
	t.Helper()
	primaries := 0
	for _, m := range status(t, name).Members {
		switch {
		case m.Role == "primary" && m.State == "running":
			primaries++
		case m.Role == "secondary" && m.State == "running" && m.LagBytes != nil:
			n++
		}
	}
	if primaries != 1 {
		return 0
	}
	return n
}

// ask runs SQL on a member of a lab.
func ask(t *testing.T, name, member, sql string) (rows [][][]byte, err error) {
	t.Helper()
	var address string
	for _, m := range status(t, name).Members {
		if m.Name == member {
			address = m.Address
		}
	}
	password, err := os.ReadFile(filepath.Join(labDir(t, name), "secrets", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgconn.Connect(ctx, "host="+host+" port="+port+" user=plimsoll dbname=postgres sslmode=disable password="+strings.TrimSpace(string(password)))
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	results, err := c.Exec(ctx, sql).ReadAll()
	for _, r := range results {
		rows = append(rows, r.Rows...)
	}
	return rows, err
}

// untilEndedHolding waits until a drill ends. Until then, a standby receives WAL but does not apply it. A restart ends
// the hold, and the lab restarts a standby that follows a new primary, so the standby is held again and again.
func untilEndedHolding(t *testing.T, c *command, name, member string) ended {
	t.Helper()
	defer func() {
		if _, err := ask(t, name, member, "select pg_wal_replay_resume()"); err != nil {
			t.Errorf("the replay of %s does not continue: %v", member, err)
		}
	}()
	until(t, "the drill ends", func() bool {
		if _, err := ask(t, name, member, "select pg_wal_replay_pause()"); err != nil {
			t.Logf("the replay of %s is not held: %v", member, err)
		}
		select {
		case <-c.done:
			return true
		case <-time.After(time.Second):
			return false
		}
	})
	return c.wait(t)
}

// cutReplication stops replication from a primary. Standbys can still connect, and clients notice nothing.
func cutReplication(t *testing.T, name, old string) {
	t.Helper()
	until(t, "nobody receives from "+old, func() bool {
		// A fast standby has connected again in between.
		_, err := ask(t, name, old, "select pg_terminate_backend(pid, 1000) from pg_stat_replication;"+
			"select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active")
		if err != nil {
			t.Logf("%s: %v", old, err)
		}
		slots, err := ask(t, name, old, "select slot_name from pg_replication_slots")
		return err == nil && len(slots) == 0 || primary(t, name) != old // the lab may be faster
	})
}

// testDrillKept cuts the standbys off from a primary that still acknowledges writes on its own disk. The lab stops it
// and promotes a standby. The drill finds the lost writes in the discarded log.
func testDrillKept(t *testing.T, name string) {
	// Few enough for all lost writes to be listed, at most a thousand, even if the promotion is slow.
	c := startExternal(t, name, "20s", "--rate", "40", "--durability", "durable")
	old := ""
	until(t, "there is a primary", func() bool { old = primary(t, name); return old != "" })
	c.signal(t, syscall.SIGUSR1)
	cutReplication(t, name, old)
	until(t, "another one is promoted", func() bool { now := primary(t, name); return now != "" && now != old })
	c.signal(t, syscall.SIGUSR1)
	l := drillOf(t, c.wait(t)).Rounds[0].Ledger
	if l == nil || l.Inserts[record.WriteLost] == 0 || len(l.Lost) == 0 {
		t.Fatalf("nothing that only %s had is lost: %+v", old, l)
	}
	places, kept := map[string]int64{}, int64(0)
	for _, w := range l.Lost {
		places[w.Found[:strings.IndexByte(w.Found+"(", '(')]]++
		if strings.HasPrefix(w.Found, "the old timeline of ") {
			kept++
		}
	}
	if lost := l.Inserts[record.WriteLost] + l.Updates[record.WriteLost]; kept != lost || int64(len(l.Lost)) != lost ||
		places["the old timeline of "+old+" "] == 0 {
		t.Errorf("%s was cut off; %d inserts and %d updates are lost, named and found are %v; read were %+v",
			old, l.Inserts[record.WriteLost], l.Updates[record.WriteLost], places, l.Reads)
	}
	t.Logf("%d inserts and %d updates are lost, and found are %v", l.Inserts[record.WriteLost], l.Updates[record.WriteLost], places)
}
