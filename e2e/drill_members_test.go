//go:build !race

package e2e

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

// memberStates returns the state of each member in the final read of a round. A discarded log and rollback files, which
// are searched too, are not members: they exist if the primary was killed before it sent its last writes.
func memberStates(r record.DrillRound) map[string]record.LedgerRead {
	by := map[string]record.LedgerRead{}
	for _, read := range r.Ledger.Reads {
		if !strings.HasPrefix(read.Source, "the old timeline of ") && !strings.HasPrefix(read.Source, rollbackOf) {
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

// signalTo sends a signal to the processes of a member and its Patroni whose command line has a text, and returns them.
func signalTo(t *testing.T, name, member, text string, sig syscall.Signal) (sent []int) {
	t.Helper()
	for _, m := range status(t, name).Members {
		if m.Name != member || len(m.PIDs) == 0 {
			continue
		}
		first, err := procid.Stat(m.PIDs[0]) // of PostgreSQL; its parent is Patroni's, too
		if err != nil {
			t.Fatal(err)
		}
		parent, err := strconv.Atoi(first[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range process.Family(parent)[1:] {
			line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			if strings.Contains(string(line), text) && syscall.Kill(pid, sig) == nil {
				sent = append(sent, pid)
			}
		}
	}
	if len(sent) == 0 {
		t.Fatalf("%s has no process %q", member, text)
	}
	return sent
}

// The processes of a standby and of Patroni.
const (
	patroni  = "/usr/bin/patroni"
	replayer = "postgres: rs0: startup"
	receiver = "postgres: rs0: walreceiver"
)

// testDrillKept stops the replication of a primary that still acknowledges writes on its own disk, and then kills it.
// Its Patroni is stopped meanwhile, because it would notice that no standby may be promoted. The drill finds the lost
// writes in the discarded log.
func testDrillKept(t *testing.T, name string) {
	c := startExternal(t, name, "--durability", "durable")
	old := ""
	until(t, "there is a primary", func() bool { old = primary(t, name); return old != "" })
	var others []string
	for _, m := range status(t, name).Members {
		if m.Kind == "postgres" && m.Name != old {
			others = append(others, m.Name)
		}
	}
	c.signal(t, syscall.SIGUSR1)
	still := signalTo(t, name, old, patroni, syscall.SIGSTOP)
	for _, m := range others {
		signalTo(t, name, m, replayer, syscall.SIGSTOP) // it would start the receiver again
		signalTo(t, name, m, receiver, syscall.SIGTERM)
	}
	until(t, "nobody receives from "+old, func() bool { return standbys(t, name) == 0 })
	c.acknowledged(t, 100)
	plimsoll(t, "lab", "fail", name, "kill", old).must(t, 0)
	for _, m := range others {
		signalTo(t, name, m, replayer, syscall.SIGCONT)
	}
	for _, pid := range still {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	until(t, "another one is promoted", func() bool { now := primary(t, name); return now != "" && now != old })
	plimsoll(t, "lab", "revert", name, "--all").must(t, 0)
	c.signal(t, syscall.SIGUSR1)
	l := c.endExternal(t).Ledger
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
