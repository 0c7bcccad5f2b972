package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// platformFile writes a platform file of a set. Its kill removes the file, so that nobody can read it again.
func platformFile(t *testing.T, set *enginetest.Set) string {
	t.Helper()
	dir := t.TempDir()
	file, kill := filepath.Join(dir, "platform.yaml"), filepath.Join(dir, "kill")
	var members strings.Builder
	for i, name := range set.Names {
		fmt.Fprintf(&members, "  - {name: %s, address: \"%s\"}\n", name, set.Addresses[i])
	}
	write(t, file, fmt.Sprintf(`members:
%sactions:
  kill:
    inject: ['%s', '{member}']
    heal: ['%s', start, '{member}']
    witness: ['%[3]s', is-dead, '{member}']
    failure_mode: crash
`, members.String(), kill, set.Script))
	if err := os.WriteFile(kill, fmt.Appendf(nil, "#!/bin/sh\nrm -f '%s'\nexec '%s' kill \"$1\"\n", file, set.Script), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// On a deployment that is not a lab, events need a platform file or a permission. An event that it does not have is
// refused before anything is measured.
func TestEventsOfADeploymentAreRefused(t *testing.T) {
	t.Parallel()
	set := &enginetest.Set{Names: []string{"db1"}, Addresses: []string{"127.0.0.1:1"}, Script: "/bin/true"}
	uri, file := "mongodb://127.0.0.1:1/?replicaSet=rs0", platformFile(t, set)
	for want, flags := range map[string][]string{
		"while: the target is not a lab":               {"--while", "kill:secondary"},
		"needs the commands that inject kill":          {"--while", "kill:secondary", "--yes-break-it"},
		"the platform does not have it (it has: kill)": {"--while", "stop:secondary", "--platform", file},
		"cannot read": {"--while", "kill:secondary", "--platform", file + ".gone"},
	} {
		code, output := plimsoll(t, append([]string{"capacity", uri}, flags...)...)
		if code != exitUsage || !strings.Contains(output, want) || strings.Contains(output, "loading the data") {
			t.Errorf("%q: exit code %d, %s; want %q", flags, code, output, want)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a refused event was injected: %v", err)
	}
}

// With a platform file, the line of its event is searched by drills with its commands. The file is read once, and
// nothing is left in the journal.
func TestCapacityOfAPlatform(t *testing.T) {
	t.Parallel()
	set := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 3)
	dir := filepath.Join(t.TempDir(), "line")
	code, output := plimsoll(t, "capacity", set.URI, "--platform", platformFile(t, set), "--while", "kill:secondary", "--records", "200",
		"--slo", "p90<2s", "--from", "50", "--to", "60", "--step", "6s", "--within", "6m", "--out", dir, "--verbose")
	c, err := record.OpenCapacity(dir)
	if err != nil || len(c.Lines) != 2 {
		t.Fatalf("exit code %d, %v, %+v: %s", code, err, c, output)
	}
	l := c.Line("kill:secondary")
	if code != exitSuccess || l == nil || l.Status != record.LineAtLeast || l.Event == nil || l.Event.Drills < 2 ||
		l.Event.Lost != 0 || l.Event.Recovery == nil || *l.Event.Recovery <= 0 {
		t.Errorf("exit code %d, %+v: %s", code, l, output)
	}
	if _, output := plimsoll(t, "platform", "status"); strings.Contains(output, set.Addresses[0]) {
		t.Errorf("the journal has %s", output)
	}
}
