//go:build !race

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// personsOnly loads persons, the same ones in each run.
func personsOnly(uri, db string) []string {
	return []string{"run", uri, "--database", db, "--workload", "person", "--records", "300", "--threads", "4", "--timeout", "60s",
		"--quiet", "--format", "json", "--out", out}
}

// TestRunViaService loads a server through a REST service: the documents are the same as without the service, and the
// service ends with the run, even if that is killed.
func TestRunViaService(t *testing.T) {
	inTurn(t, 5)
	forEachServer(t, func(t *testing.T, s *server) {
		t.Run("data", func(t *testing.T) { testServiceData(t, s) })
		t.Run("killed", func(t *testing.T) { testServiceKilled(t, s) })
	})
}

func testServiceData(t *testing.T, s *server) {
	through, direct := newDatabase("service"), newDatabase("direct")
	e := plimsoll(t, slices.Concat(personsOnly(s.uri, through), []string{"--via", "rest", "--operations", "400"})...)
	r := e.record(t)
	p := r.Phase("measure")
	if r.Status != record.Complete || p.Counts.Succeeded != 400 || p.Counts.Bad() != 0 || r.Fill == nil ||
		r.Fill.Inserted != 300 {
		t.Fatalf("status %s, counts %+v, load phase %+v\n%s", r.Status, p.Counts, r.Fill, e.stderr)
	}
	if s := p.Service; s == nil || s.CPUSeconds <= 0 || s.CPUPerOperation <= 0 || s.MemoryBytes <= 0 {
		t.Errorf("what the service used is %+v", s)
	}
	if r.Target.Kind == "REST service" || r.Target.Settings["via"] == "" {
		t.Errorf("the record does not say what was loaded, and through what: %+v", r.Target)
	}
	plimsoll(t, slices.Concat(personsOnly(s.uri, direct), []string{"--load", "only"})...).must(t, 0)
	want, got := s.dump(t, direct, "person"), s.dump(t, through, "person")
	if len(got) <= 300 || len(want) != 300 {
		t.Fatalf("%d persons through the service, %d directly", len(got), len(want))
	}
	for i := range want { // IDs of the load phase come first
		if !bytes.Equal(want[i], got[i]) {
			t.Fatalf("person %d is %s, and directly %s", i, got[i], want[i])
		}
	}
}

func testServiceKilled(t *testing.T, s *server) {
	c := start(t, slices.Concat(personsOnly(s.uri, newDatabase("service")), []string{"--via", "rest", "--duration", "30m"})...)
	pids := c.childrenNamed(t, 1, "persons-service")
	untilMeasured(t, c)
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pids[0]))
	if err != nil || !bytes.HasSuffix(line, []byte("\x00persons-service\x00")) {
		t.Errorf("the command line of the service is %q, %v: everybody can read it, so nothing may be in it", line, err)
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.wait(t)
	allGone(t, pids)
}
