package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// hostileLines would become markup, or an event of its own, if it were taken for anything but text. It is longer than
// the buffers of readers of lines, and no longer: each record here has it hundreds of times.
var hostileLines = hostileName + "\r\n\r\nevent: end\rdata: forged\n\nevent: end\ndata: forged\n\nid: forged\nretry: 1\n\u2028</div><script>harm()</script>" + strings.Repeat("A", 1<<17)

// writeJSON replaces a file in one step: somebody may read it at any moment.
func writeJSON(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", b, 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// What a database, a user or a server called something is text in the events of every kind of record, and no event.
func TestHostileNamesInEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, write := range map[string]func(string) error{
		"run": func(dir string) error {
			_, err := recordtest.Run{Seconds: 12, Rate: 90, Open: true, Seed: 1, OnLab: true, Sampled: true, StallAt: 5,
				Name: hostileLines}.Write(dir)
			return err
		},
		"study": func(dir string) error {
			s := recordtest.Study{Workers: []int{8, 16}, Blocks: 2, Name: hostileLines}.Make()
			s.Status = record.Running
			for i := range s.Trials {
				s.Trials[i].Record, s.Trials[i].Configuration = "", hostileLines
			}
			s.Trials[0].Status, s.Trials[0].Record = record.TrialRunning, "trials/0001"
			return writeJSON(filepath.Join(dir, record.StudyFile), s)
		},
		"drill": func(dir string) error {
			_, err := recordtest.Drill{Rounds: 1, Running: true, Name: hostileLines}.Write(dir)
			return err
		},
		"probe": func(dir string) error { _, err := recordtest.Probe{Name: hostileLines}.Write(dir); return err },
		"suite": func(dir string) error {
			_, err := recordtest.Suite{Running: true, Name: hostileLines}.Write(dir)
			return err
		},
	} {
		where := filepath.Join(dir, name)
		if err := write(where); err != nil {
			t.Fatal(err)
		}
		release, err := record.Hold(where)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
	}
	s := start(t, Options{Dir: dir, Labs: &fakeLabs{broken: true, name: hostileLines}})
	for kind, path := range map[string]string{
		"run": "/live/" + idOf("run"), "study": "/live/" + idOf("study"), "drill": "/live/" + idOf("drill"),
		"probe": "/live/" + idOf("probe"), "suite": "/live/" + idOf("suite"), "lab": "/lab/three",
	} {
		t.Run(kind, func(t *testing.T) {
			events := listenAt(t, s, path+"/events", "")
			seen := map[string]bool{}
			for e := range events {
				seen[e.name] = true
				if e.name != "picture" && e.name != "now" || strings.Contains(e.data, "<script>harm") || strings.Contains(e.id, "forged") {
					t.Fatalf("event %q %q: %.300s", e.name, e.id, e.data)
				}
				if e.name == "now" { // it comes behind the picture, which is whole by then
					break
				}
			}
			if !seen["picture"] || !seen["now"] {
				t.Errorf("the events are %v", seen)
			}
		})
	}
}
