package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run and a drill keep the text of their workload file when they are completed.
func TestWorkloadFilesAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte("name: shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".yaml"} {
		run := Run{Target: "null:", Workload: Workload{Name: name}}
		drill := Drill{Run: run, External: true}
		drill.Run.Target = "mongodb://db1/"
		for what, complete := range map[string]struct {
			do func() error
			of *Workload
		}{"run": {run.Complete, &run.Workload}, "drill": {drill.Complete, &drill.Run.Workload}} {
			err := complete.do()
			if there := name == file; there && (err != nil || complete.of.Text() != "name: shop\n") ||
				!there && (err == nil || !strings.Contains(err.Error(), "cannot open the workload file")) {
				t.Errorf("%s of %s: %v, %q", what, filepath.Base(name), err, complete.of.Text())
			}
		}
	}
}
