package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// A drill of a deployment that is killed leaves a fault behind. Everybody who looks is told, nobody breaks more, and
// the fault is reverted at its time.
func TestMongoKilledDrillIsReverted(t *testing.T) {
	inTurn(t, 30)
	for name, binary := range mongods(t) {
		t.Run(name, func(t *testing.T) {
			set := enginetest.StartSet(t, binary, 3)
			home := t.TempDir()
			own := func(c *exec.Cmd) { c.Env = append(c.Env, "PLIMSOLL_HOME="+home) }
			told := func(args ...string) ended {
				t.Helper()
				return startChanged(t, own, args...).wait(t)
			}
			file := filepath.Join(t.TempDir(), "platform.yaml")
			text := strings.NewReplacer("SCRIPT", set.Script, "A1", set.Addresses[0], "A2", set.Addresses[1], "A3", set.Addresses[2]).Replace(`
members: [{name: db1, address: A1}, {name: db2, address: A2}, {name: db3, address: A3}]
actions:
  pause: {inject: [SCRIPT, pause, "{member}"], heal: [SCRIPT, resume, "{member}"], failure_mode: black-hole}
`)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			drill := func(fault, lasts string) []string {
				return []string{"drill", set.URI, "--platform", file, "--fault", fault, "--at", "2s", "--for", lasts, "--duration", "15m", "--yes-break-it",
					"--quiet", "--out", out}
			}
			const none = "no fault is in the journal\n"
			killed := func(lasts string) *command {
				d := startChanged(t, own, drill("pause:db3", lasts)...)
				d.until(t, "the fault", func() bool {
					return strings.Contains(told("platform", "status").stdout, "its drill runs")
				})
				d.signal(t, syscall.SIGKILL)
				<-d.done
				return d
			}
			d := killed("10m")
			const still = "pause:db3 is still injected on db3, since "
			if e := told("platform", "status"); !strings.Contains(e.stdout, "its drill has ended, and its watchdog reverts it at ") {
				t.Errorf("the status is %s%s", e.stdout, e.stderr)
			}
			if e := told("show", filepath.Join(d.dir, out)); !strings.HasPrefix(e.stdout, "! "+still) {
				t.Errorf("the record says %s", e.stdout)
			}
			if e := told(drill("pause:db2", "1s")...); e.code != 2 || !strings.Contains(e.stderr, still) {
				t.Errorf("a second drill ends with %d: %s", e.code, e.stderr)
			}
			if e := told("run", set.URI, "--records", "10", "--operations", "10"); !strings.Contains(e.stderr, still) {
				t.Errorf("a run says %s", e.stderr)
			}
			if e := told("doctor", "--uri", set.URI); !strings.Contains(e.stderr, still) {
				t.Errorf("the doctor says %s", e.stderr)
			}
			if e := told("platform", "heal"); e.code != 0 || told("platform", "status").stdout != none {
				t.Errorf("the fault is not reverted: %d, %s%s", e.code, e.stdout, e.stderr)
			}
			if e := told("show", filepath.Join(d.dir, out)); strings.Contains(e.stdout, still) {
				t.Errorf("afterwards the record says %s", e.stdout)
			}
			killed("15s")
			until(t, "the watchdog", func() bool { return told("platform", "status").stdout == none })
			if exec.Command(set.Script, "is-paused", "db3").Run() == nil {
				t.Error("the member is still paused")
			}
		})
	}
}
