//go:build !race

package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// testDrillService runs a drill through a REST service: the tags of the ledger arrive, no majority write counts as
// lost, and no service remains.
func testDrillService(t *testing.T, name string) {
	var pids []int
	d, _ := untilSeenBy(t, func(args []string) ended {
		c := start(t, args...)
		pids = append(pids, c.childrenNamed(t, 1, "persons-service")...)
		return c.wait(t)
	}, known, append(gentle, "lab:"+name, "--fault", "kill:primary", "--at", "3s", "--for", "3s", "--duration", "9s", "--w", "majority",
		"--via", "rest", "--workload", "person", "--records", "100", "--quiet", "--out", out)...)
	l := d.Rounds[0].Ledger
	if d.Verdict != record.Holds || l == nil || l.Acknowledged == 0 || l.LostWrites() != 0 {
		t.Fatalf("the verdict is %s because of %q, the ledger is %+v", d.Verdict, d.Reasons, l)
	}
	for class, n := range l.Inserts {
		if class != record.WriteOK && class != record.WriteRecovered && class != record.WriteDropped {
			t.Errorf("%d persons are called %s: %v", n, class, l.Examples[class])
		}
	}
	testAllAgree(t, d.Rounds[0], "rs0-1", "rs0-2", "rs0-3")
	allGone(t, pids)
}

// testDrillSupervisorKilled kills the supervisor of a lab during a drill with a fault. The members end, and the fault
// is not reverted. The drill reports this without waiting, the lab is listed as dead, and lab down removes everything,
// which [labOf] checks.
func testDrillSupervisorKilled(t *testing.T, name string) {
	c := start(t, append([]string{"drill", "lab:" + name, "--fault", "cut:primary", "--at", "2s", "--for", "10m", "--duration", "11m", "--w", "majority",
		"--format", "json", "--out", out}, gentle...)...)
	c.until(t, "the primary is cut off", func() bool { return len(status(t, name).Faults) == 1 })
	killSupervisor(t, name)
	c.signal(t, syscall.SIGINT)
	d := drillOf(t, c.wait(t).must(t, 130))
	said := strings.Join(d.Reasons, " ")
	if d.Verdict != record.Unknown || !strings.Contains(said, "its supervisor has ended") || !strings.Contains(said, "plimsoll lab down "+name) {
		t.Errorf("the verdict is %s because of %q", d.Verdict, d.Reasons)
	}
	if f := d.Rounds[0].Faults; len(f) != 1 || f[0].Healed != 0 || !strings.Contains(f[0].Problem, "its supervisor has ended") {
		t.Errorf("what nobody healed is %+v", f)
	}
	if list := plimsoll(t, "lab", "list").must(t, 0).stdout; !strings.Contains(lineOf(list, name), "dead") {
		t.Errorf("lab list says\n%s", list)
	}
}

func lineOf(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return line
		}
	}
	return ""
}
