//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// shippedDrills are the shipped drills with short faults, their needs, and their exit codes on MongoDB. Drills that
// show a kill and an election only have lower rates here.
var shippedDrills = []struct {
	name    string
	root    bool
	code    int
	changes []string
}{
	{"kill-primary", false, 0, []string{"rate: 300, duration: 25s", "rate: 60, duration: 14s", "at: 6s, for: 8s", "at: 3s, for: 4s"}},
	{"kill-primary-balanced", false, 0, []string{"rate: 2000, duration: 25s", "rate: 200, duration: 14s", "at: 6s, for: 8s", "at: 3s, for: 4s"}},
	{"transactions-kill", true, 0, []string{"rate: 200, duration: 40s", "rate: 60, duration: 16s", "at: 10s, for: 10s", "at: 4s, for: 5s"}},
	{"transactions-cut", true, 0, []string{"rate: 200, duration: 40s", "rate: 60, duration: 18s", "at: 10s, for: 10s", "at: 4s, for: 5s"}},
	{"black-hole", true, 0, []string{"duration: 75s", "duration: 32s", "at: 8s, for: 45s", "at: 4s, for: 14s"}},
	{"double-fault", false, 0, []string{"rate: 300, duration: 40s", "rate: 60, duration: 18s", "at: 8s, for: 20s", "at: 3s, for: 9s", "at: 12s, for: 10s", "at: 5s, for: 4s"}},
	{"slow-disk", true, 0, []string{"duration: 30s", "duration: 14s", "at: 8s, for: 10s", "at: 3s, for: 5s"}},
	{"full-disk", true, 0, []string{"duration: 40s", "duration: 24s", "at: 8s, for: 10s", "at: 4s, for: 5s"}},
	{"power-loss-durable", true, 0, []string{"duration: 25s", "duration: 14s", "at: 8s, for: 3s", "at: 4s, for: 2s"}},
	{"lying-disk", true, 5, []string{"duration: 30s", "duration: 16s", "at: 5s, for: 20s", "at: 2s, for: 12s", "at: 10s, for: 3s", "at: 6s, for: 2s"}},
}

// TestShippedDrillsOnMongod runs the shipped drills on a real mongod, or on the stand-in. The stand-in keeps its
// documents in memory, so it skips drills with lying or full disks.
func TestShippedDrillsOnMongod(t *testing.T) {
	inTurn(t, 190)
	binary, real := enginetest.RealMongo(t)
	for _, d := range shippedDrills {
		if d.root && (os.Getuid() != 0 || !real) {
			notrun.Here(t, "%s needs root and a real mongod", d.name)
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			if !real {
				binary = enginetest.StandinMongo(t, "8.0.12")
			}
			file := shippedDrill(t, d.name, d.changes...)
			removeAfter(t, "drill-"+d.name)
			got, e := untilSeen(t, known, file, "--binary", binary, "--quiet")
			e.must(t, d.code)
			if !strings.HasPrefix(got.Engine, spec.LabMongod+" ") && // one of Percona has another name
				!strings.Contains(got.Engine, "MongoDB") {
				t.Errorf("the record says that the engine was %q", got.Engine)
			}
			for _, f := range got.Rounds[0].Faults {
				if !f.Hit {
					t.Errorf("%s of %s did not hit: %s %s", f.Fault, f.Target, f.Evidence, f.Problem)
				}
			}
		})
	}
}

// The shipped sharded lab and the study of members need mongod; otherwise they report that.
func TestShippedFilesNeedCapabilities(t *testing.T) {
	file, err := filepath.Abs("../examples/lab/sharded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e := plimsoll(t, "lab", "plan", file, "--engine", spec.LabDocumentDB)
	if e.must(t, 2); !strings.Contains(e.stderr, "documentdb has no sharding") {
		t.Errorf("%s", e.stderr)
	}
}
