package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// PostgreSQL is found while the process with which Patroni started it is still its parent, and what Patroni runs for
// other purposes is not taken for it.
func TestPostmasterBelow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		programs map[string]string // what the programs of these names start
		parent   string            // of the PostgreSQL that is to be found
	}{
		"started":  {map[string]string{"first": "patroni postgres", "patroni": "sleep"}, "first"},
		"starting": {map[string]string{"first": "patroni", "patroni": "python3", "python3": "postgres"}, "python3"},
		"guarded": {map[string]string{"first": "patroni", "patroni": "python3", "python3": "postgres.sh", "postgres.sh": "sleep"},
			"python3"},
		"without Patroni":  {map[string]string{"first": "postgres"}, "first"},
		"a setting":        {map[string]string{"first": "patroni", "patroni": "postgres"}, ""},
		"rewound":          {map[string]string{"first": "patroni", "patroni": "pg_rewind", "pg_rewind": "postgres"}, ""},
		"beside a setting": {map[string]string{"first": "patroni postgres", "patroni": "postgres"}, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, sleeping := t.TempDir(), 0
			if err := os.Symlink("/bin/sleep", filepath.Join(dir, "postgres")); err != nil {
				t.Fatal(err)
			}
			for program, starts := range c.programs {
				text := "#!/bin/sh\n"
				for child := range strings.FieldsSeq(starts) {
					if child == "postgres" || child == "sleep" {
						sleeping++
						child += " 60"
					}
					text += child + " &\n"
				}
				if err := os.WriteFile(filepath.Join(dir, program), []byte(text+"wait\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			first := exec.Command(filepath.Join(dir, "first"))
			first.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			first.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			defer first.Wait()
			defer syscall.Kill(-first.Process.Pid, syscall.SIGKILL)
			for len(namedBelow(first.Process.Pid, "postgres", "sleep")) < sleeping {
				time.Sleep(time.Millisecond)
			}
			parent := ""
			if pid := postmasterBelow(first.Process.Pid); pid != 0 {
				fields, err := procid.Stat(pid)
				if err != nil {
					t.Fatal(err)
				}
				above, _ := strconv.Atoi(fields[1])
				parent = nameOf(above)
			}
			if parent != c.parent {
				t.Errorf("found a PostgreSQL below %q", parent)
			}
		})
	}
}

func namedBelow(first int, names ...string) (pids []int) {
	for _, pid := range process.Family(first) {
		for _, name := range names {
			if nameOf(pid) == name {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
