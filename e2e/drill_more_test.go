//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// testDrillService drills a lab whose load goes through a REST service: the tags of the ledger arrive, nothing that a
// majority has is called lost, and no service is left.
func testDrillService(t *testing.T, name string) {
	c := start(t, "drill", "lab:"+name, "--fault", "kill:primary", "--at", "3s", "--for", "3s", "--duration", "9s", "--rate", "100", "--w", "majority",
		"--via", "rest", "--workload", "person", "--records", "100", "--format", "json", "--quiet", "--out", out)
	pids := c.childrenNamed(t, 1, "persons-service")
	d := drillOf(t, c.wait(t).judged(t))
	l := d.Rounds[0].Ledger
	if d.Verdict != record.Holds || l == nil || l.Acknowledged < 100 || l.LostWrites() != 0 {
		t.Fatalf("the verdict is %s because of %q, the ledger is %+v", d.Verdict, d.Reasons, l)
	}
	for class, n := range l.Inserts {
		if class != record.WriteOK && class != record.WriteRecovered && class != record.WriteDropped {
			t.Errorf("%d persons are called %s: %v", n, class, l.Examples[class])
		}
	}
	testAllAgree(t, d.Rounds[0], "pg-1", "pg-2", "pg-3")
	allGone(t, pids)
}

// testDrillSupervisorKilled kills what keeps a lab while one of its hosts is cut off and a drill goes on. Nobody heals then, and
// the members end: the drill says so and waits for nothing, the lab is listed as dead, and lab down leaves nothing of it,
// which [labOf] looks for.
func testDrillSupervisorKilled(t *testing.T, name string) {
	c := start(t, "drill", "lab:"+name, "--fault", "cut:primary", "--at", "2s", "--for", "60s", "--duration", "90s", "--rate", "100", "--w", "majority",
		"--format", "json", "--out", out)
	until(t, "the primary is cut off", func() bool { return len(status(t, name).Faults) == 1 })
	killSupervisor(t, name)
	c.signal(t, syscall.SIGINT)
	d := drillOf(t, c.wait(t).must(t, 130))
	said := strings.Join(d.Reasons, " ")
	if d.Verdict != record.Unknown || !strings.Contains(said, "its supervisor is gone") || !strings.Contains(said, "plimsoll lab down "+name) {
		t.Errorf("the verdict is %s because of %q", d.Verdict, d.Reasons)
	}
	if f := d.Rounds[0].Faults; len(f) != 1 || f[0].Healed != 0 || !strings.Contains(f[0].Problem, "its supervisor is gone") {
		t.Errorf("what nobody healed is %+v", f)
	}
	if list := plimsoll(t, "lab", "list").must(t, 0).stdout; !strings.Contains(lineOf(list, name), "dead") {
		t.Errorf("lab list says\n%s", list)
	}
}

// lineOf is the first line of a text that has a word in it.
func lineOf(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return line
		}
	}
	return ""
}

// TestDrillsOfMongod makes the shipped drills of mongod with a stand-in that plays the sets, as no real one can be had here. It knows
// the commands of a lab and not those of a load: the set comes up, the seed records are written and found, the members are
// read one by one, and what the drill could not do is said in a sentence that names the command.
func TestDrillsOfMongod(t *testing.T) {
	inTurn(t, 60)
	files, err := filepath.Glob("../examples/drill/mongod-*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("the drills are %q: %v", files, err)
	}
	// Long enough for an election of ten seconds, and no load that two cores have to work for.
	const engine = "engine: {name: mongod"
	own := strings.NewReplacer(engine, engine+", binary: "+enginetest.StandinMongo(t, "8.0.12"), "duration: 60s", "duration: 30s", "for: 30s", "for: 14s",
		"pace: 4000", "pace: 100")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel() // it mostly waits
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(t.TempDir(), "drill.yaml")
			if err := os.WriteFile(name, []byte(own.Replace(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			lab := "drill-" + strings.TrimSuffix(filepath.Base(file), ".yaml")
			removeAfter(t, lab)
			e := plimsoll(t, "drill", name, "--format", "json", "--quiet").must(t, 1)
			d := drillOf(t, e)
			r := d.Rounds[0]
			if d.Verdict != record.Unknown || r.SeedsFound != 2 || !strings.Contains(e.stderr, "no such command: 'aggregate'") {
				t.Errorf("the verdict is %s because of %q, %d seed records were found\n%s", d.Verdict, d.Reasons, r.SeedsFound, e.stderr)
			}
			testAllAgree(t, r, "rs0-1", "rs0-2", "rs0-3")
			if list := plimsoll(t, "lab", "list").must(t, 0).stdout; strings.Contains(list, lab) {
				t.Errorf("the lab of the drill is still there:\n%s", list)
			}
		})
	}
}
