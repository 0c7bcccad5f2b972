package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// A deployment of which a member is down is refused, and the reason names the majority that the fault would take.
func TestMongoStateBefore(t *testing.T) {
	inTurn(t, 25)
	p := newProving(t, enginetest.StandinMongo(t, "8.0.12"))
	own := func(c *exec.Cmd) { c.Env = append(c.Env, "PLIMSOLL_HOME="+p.home, "OWN_URI="+p.URI) }
	p.settle(t)
	p.Do(t, "kill", "db3")
	e := startChanged(t, own, "drill", "env:OWN_URI", "--platform", p.file, "--fault", "kill:primary", "--at", "2s", "--for", "2s", "--duration", "8s",
		"--rate", "100", "--w", "majority", "--yes-break-it", "--quiet", "--format", "json", "--out", out).wait(t).must(t, 2)
	for _, want := range []string{"nothing was injected", "db3 is unreachable", "kill:primary leaves 1 of 3 members of rs0", "--anyway"} {
		if !strings.Contains(e.stderr, want) {
			t.Errorf("it lacks %q: %s", want, e.stderr)
		}
	}
}

func hasID(d *record.Drill, id string) bool {
	for _, f := range d.Validity {
		if f.ID == id {
			return true
		}
	}
	return false
}

// A lab is checked like a deployment: a fault that is in place and a member that is down are refused. A drill that
// begins all the same shows nothing.
func TestMongoStateBeforeOfALab(t *testing.T) {
	inTurn(t, 35)
	binary := enginetest.StandinMongo(t, "8.0.12")
	removeAfter(t, "state-before")
	plimsoll(t, "lab", "up", "--name", "state-before", "--members", "3", "--engine", "mongod", "--binary", binary, "--election", "elect-fast").must(t, 0)
	drill := func(more ...string) ended {
		return plimsoll(t, append([]string{"drill", "lab:state-before", "--fault", "kill:primary", "--at", "2s", "--for", "2s", "--duration", "8s",
			"--rate", "100", "--w", "majority", "--quiet", "--format", "json", "--out", filepath.Join(out, "lab")}, more...)...)
	}
	plimsoll(t, "lab", "fail", "state-before", "kill", "secondary").must(t, 0)
	e := drill().must(t, 2)
	for _, want := range []string{"nothing was injected", "is in place", "kill:primary leaves 1 of 3 members of rs0", "--anyway"} {
		if !strings.Contains(e.stderr, want) {
			t.Errorf("it lacks %q: %s", want, e.stderr)
		}
	}
	e = drill("--anyway").must(t, 6)
	var d record.Drill
	if err := json.Unmarshal([]byte(e.stdout), &d); err != nil {
		t.Fatal(err)
	}
	if d.Verdict != record.Unknown || !strings.Contains(strings.Join(d.Reasons, " "), "less than a majority") || !hasID(&d, "degraded-before") ||
		strings.Contains(strings.Join(d.Reasons, " "), "still in place") {
		t.Errorf("%s, %q, %+v", d.Verdict, d.Reasons, d.Validity)
	}
}

// The profiler and parameters that were changed between two runs are differences. The round trip is none.
func TestMongoChangedSettings(t *testing.T) {
	inTurn(t, 8)
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return // the stand-in has no profiler
	}
	set := enginetest.StartSet(t, binary, 1)
	measure := func() string {
		e := plimsoll(t, "run", set.URI, "--records", "100", "--duration", "2s", "--out", out)
		if e.code != 0 && e.code != 6 {
			t.Fatalf("%d: %s", e.code, e.stderr)
		}
		return filepath.Join(e.dir, out)
	}
	differences := func(a, b string) string {
		e := plimsoll(t, "compare", a, b, "--format", "json")
		var c record.ComparisonReport
		if err := json.Unmarshal([]byte(e.stdout), &c); err != nil {
			t.Fatalf("%v: %s%s", err, e.stdout, e.stderr)
		}
		var names []string
		for _, d := range c.Differences {
			if strings.HasPrefix(d.What, "target.") {
				names = append(names, d.What)
			}
		}
		return strings.Join(names, ", ")
	}
	first, second := measure(), measure()
	if got := differences(first, second); got != "" {
		t.Errorf("two equal runs differ in %s", got)
	}
	command := func(database, text string) {
		t.Helper()
		runCommand(t, set.URI, database, text)
	}
	command("plimsoll", `{"profile": 2, "slowms": 50}`)
	command("admin", `{"setParameter": 1, "syncdelay": 20}`)
	const want = "target.settings.parameter syncdelay, target.settings.profiler"
	if got := differences(first, measure()); got != want {
		t.Errorf("the runs differ in %q, not in %q", got, want)
	}
}
