package suite

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

const (
	plainStudy = "{name: threads, run: {target: 'null:', workload: {name: a, records: 100k}, load: {duration: 5s}}, trials: 2, factors: [{path: load.workers, levels: [8, 16]}]}"
	foundStudy = "{name: base, run: {target: 'null:', workload: {records: 1000}, load: {duration: 5s}}, procedures: {threads: {levels: [1, 2]}}}"
	labStudy   = `
name: policy
lab: {name: policy, engine: {name: documentdb}}
run: {workload: {records: 10k}, load: {duration: 5s}}
trials: 2
factors:
  - {name: members, path: lab.topology.members, levels: [1, 3]}
  - {name: mixed, levels: [{name: eight, set: {load.workers: 8}}, {name: sixteen, set: {load.workers: 16}}, {name: more, set: {load.workers: 32, lab.topology.members: 3}}]}
`
	aDrill = "{name: kill, lab: {name: kill, engine: {name: documentdb}}, run: {load: {duration: 5s}}, faults: [{fault: 'kill:primary', at: 1s, for: 1s}]}"
)

// folder writes the files of a suite.
func folder(t *testing.T, suite string, more map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my-suite")
	files := map[string]string{File: suite, "threads.yaml": plainStudy, "base.yaml": foundStudy, "lab.yaml": labStudy, "../drill/kill.yaml": aDrill}
	maps.Copy(files, more)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSuiteIsRead(t *testing.T) {
	f, err := Open(folder(t, `
published: policy-storage
scale: {data: 1/100}
parts:
  - {study: base.yaml, gives: [load.workers], vital: true}
  - {study: threads.yaml, each: {workload.name: [a, b], workload.seed: [1]}, shows: [figure-2, figure-4]}
  - {drill: ../drill/kill.yaml, shows: [table-7], level: "rs=1, host", repeat: 3, needs: [root]}
  - {name: ext4, probe: {storage: {backend: directory}, threads: [1, 4]}}
`, nil))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range f.Pieces {
		names = append(names, p.Name)
	}
	if got, want := strings.Join(names, " "), "base threads-a-1 threads-b-1 kill ext4"; got != want || f.Spec.Name != "my-suite" {
		t.Errorf("%s: %s, want %s", f.Spec.Name, got, want)
	}
	if f.Pieces[2].Study.Run.Workload.Name != "b" || f.Pieces[2].Study.Name != "threads-b-1" ||
		f.Pieces[1].Study.Run.Workload.Name != "a" {
		t.Errorf("%+v", f.Pieces[2].Study)
	}
}

func TestMistakesOfSuitesNamePartAndKey(t *testing.T) {
	for text, want := range map[string]string{
		"parts: []":                                                "parts: there is none",
		"prats: []":                                                `did you mean parts?`,
		"parts: [{study: gone.yaml}]":                              "part 1 (gone): study: there is no file",
		"parts: [{study: /etc/x.yaml}]":                            "part 1 (x): study: /etc/x.yaml is outside",
		"parts: [{study: ../../x.yaml}]":                           "is outside of the suite's folder and its neighbours",
		"parts: [{study: sub/../../../x.yaml}]":                    "is outside of the suite's folder and its neighbours",
		"parts: [{study: ..}]":                                     "cannot be the name of a directory",
		"parts: [{name: up, study: ..}]":                           "part 1 (up): study: .. is outside",
		"parts: [{name: here, study: .}]":                          "part 1 (here): study: . is not a file",
		"parts: [{name: .., study: base.yaml}]":                    `name: ".." cannot be the name of a directory`,
		"parts: [{name: .hidden, drill: ../drill/kill.yaml}]":      `name: ".hidden" cannot be`,
		"parts: [{study: base.yaml, nmae: x}]":                     "did you mean name?",
		"parts: &p [{study: base.yaml, each: {load.workers: *p}}]": "suite",
		"parts: [{study: threads.yaml, each: {load.workers: " + numbers(40) + ", workload.seed: " + numbers(40) + "}}]": "each: more than 1000 combinations",
		"parts: [{study: threads.yaml, each: {workload.name: [" + strings.Repeat("a", 300) + "]}}]":                     "is longer than 200 characters",
		"parts: [{}]":                                                                           "part 1: it must have exactly one of study, drill and probe",
		"parts: [{probe: {storage: {}}}]":                                                       "part 1: name: a probe needs one",
		"parts: [{name: a/b, study: base.yaml}]":                                                `name: "a/b" cannot be the name of a directory`,
		"parts: [{study: base.yaml, needs: [rot]}]":                                             `needs: there is no "rot", did you mean root?`,
		"parts: [{study: base.yaml}, {study: base.yaml}]":                                       "part 2 (base): it has the same name as part 1",
		"parts: [{study: threads.yaml, each: {load.workers: [1, '1']}}]":                        "two parts have the name threads-1",
		"parts: [{study: threads.yaml, each: {load.wokers: [1]}}]":                              "load.wokers",
		"parts: [{study: threads.yaml, gives: [load.workers]}]":                                 "gives: threads.yaml has no procedures",
		"parts: [{study: base.yaml, gives: [load.worker]}]":                                     `no procedure finds "load.worker", did you mean load.workers?`,
		"parts: [{drill: ../drill/kill.yaml, gives: [load.workers]}]":                           "gives: only the procedures of a study",
		"parts: [{study: base.yaml, level: x}]":                                                 "level: it is for drills and probes",
		"parts: [{study: base.yaml, repeat: 2}]":                                                "repeat: only drills are repeated",
		"parts: [{study: base.yaml, shows: [figure-2]}]":                                        "the suite names no document",
		"{published: policy-storag, parts: [{study: base.yaml}]}":                               "published: ",
		"{published: policy-storage, parts: [{study: base.yaml, shows: [figure-999]}]}":         "part 1 (base): shows: ",
		"parts: [{study: broken.yaml}]":                                                         "part 1 (broken): study: broken.yaml: ",
		"{scale: {data: 1/0}, parts: [{study: base.yaml}]}":                                     "scale.data",
		"{scale: {applied: true}, parts: [{study: base.yaml}]}":                                 "scale: plimsoll writes applied",
		"parts: [{study: base.yaml}, {name: threads, study: threads.yaml}, {study: gone.yaml}]": "part 3 (gone)",
	} {
		_, err := Open(folder(t, text, map[string]string{"broken.yaml": "{runn: {}}"}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), File) {
		t.Errorf("a folder without a suite: %v", err)
	}
}

// machine lacks what it is told to.
type machine map[string]string

func (m machine) Lacks(need string) string { return m[need] }

// planFor plans a folder on a machine that can bring any lab up.
func planFor(t *testing.T, dir string, o PlanOptions) *Plan {
	t.Helper()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func leftOf(p *Plan) string {
	var all []string
	for _, l := range p.Left {
		all = append(all, l.Part+" "+l.What+" "+l.From+">"+l.To)
	}
	return strings.Join(all, "; ")
}

const allKinds = `
scale: {data: 1/10, workers: 1/4}
parts:
  - {study: threads.yaml}
  - {study: lab.yaml, needs: [sharding]}
  - {drill: ../drill/kill.yaml, repeat: 2}
  - {name: dir, probe: {storage: {backend: directory}, threads: [4, 8], duration: 1s}}
`

func TestPlanHasTheScale(t *testing.T) {
	p := planFor(t, folder(t, allKinds, nil), PlanOptions{Scale: &spec.Scale{Workers: 0.5}})
	spec := p.Parts[0].Study.Spec
	if spec.Run.Workload.Records != 10_000 || spec.Factors[0].Levels[1].Value != 8 ||
		spec.Factors[0].Levels[1].Name != "16" {
		t.Errorf("%+v", spec)
	}
	if !p.Parts[1].Out() || !strings.Contains(p.Parts[1].Problem, "it needs sharding: documentdb has no sharding") {
		t.Errorf("%+v", p.Parts[1].Part)
	}
	if p.Parts[2].Plan.Drill.Repeat != 2 || p.Parts[3].Plan.Probe.Threads[1] != 4 {
		t.Errorf("%+v %+v", p.Parts[2].Plan.Drill, p.Parts[3].Plan.Probe)
	}
	if p.Estimate() < 20*time.Second {
		t.Errorf("all in %v", p.Estimate())
	}
	if !strings.Contains(p.Left[0].To, "data=1/10,workers=1/2") {
		t.Errorf("%+v", p.Left)
	}
}

// What this machine cannot do is left out with the reason, level by level.
func TestPlanOfAMachineThatCannotAll(t *testing.T) {
	check := func(l spec.Lab, _ spec.Run) error {
		if l.Hosts.Count == 0 {
			t.Errorf("a lab without its defaults is checked: %+v", l)
		}
		if l.Topology.Members == 3 {
			return errors.New("there is room\nfor one member")
		}
		return nil
	}
	anyEngine := strings.Replace(allKinds, ", needs: [sharding]", "", 1)
	p := planFor(t, folder(t, anyEngine, nil), PlanOptions{Study: study.PlanOptions{CheckLab: check},
		CheckVolume: func(spec.Lab) error { return errors.New("no loop devices") }})
	if got := leftOf(p); !strings.Contains(got, "lab members=3 >") || !strings.Contains(got, "lab mixed=more >") ||
		!strings.Contains(got, "lab members >") || !strings.Contains(got, "dir the part >") {
		t.Errorf("%s", got)
	}
	if f := p.Parts[1].Study.Spec.Factors; len(f) != 1 || len(f[0].Levels) != 2 {
		t.Errorf("%+v", f)
	}
	p = planFor(t, folder(t, allKinds, nil), PlanOptions{Study: study.PlanOptions{
		CheckLab: func(spec.Lab, spec.Run) error { return errors.New("needs root") }}})
	if !p.Parts[1].Out() || !p.Parts[2].Out() || p.Parts[0].Out() || p.Nothing() != "" {
		t.Errorf("%s", leftOf(p))
	}
}

// A deployment of one's own is loaded with what is not of the lab.
func TestPlanAgainstADeployment(t *testing.T) {
	dir := folder(t, allKinds, nil)
	p := planFor(t, dir, PlanOptions{Against: "mongodb://app:secret@db1/", Machine: machine{"root": "this is not root"}})
	spec := p.Parts[1].Study.Spec
	if spec.Lab != nil || spec.Run.Target != "mongodb://app:secret@db1/" || !strings.HasSuffix(spec.Run.Database, "_lab") {
		t.Errorf("%+v", spec.Run)
	}
	if len(spec.Factors) != 1 || len(spec.Factors[0].Levels) != 2 {
		t.Errorf("%+v", spec.Factors)
	}
	if !p.Parts[2].Out() || !p.Parts[3].Out() || strings.Contains(p.Parts[2].Problem, "secret") {
		t.Errorf("%+v", p.Parts)
	}
	p = planFor(t, dir, PlanOptions{Against: embeddedTarget, Data: "/data"})
	if got := p.Parts[0].Study.Spec.Run.Target; got != "embedded:/data/threads" {
		t.Errorf("%s", got)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewPlan(f, PlanOptions{Against: "mongo://h"}); err == nil || !strings.Contains(err.Error(), "--target") {
		t.Errorf("%v", err)
	}
}

// If everything that is varied is of the lab, the baseline alone is measured.
func TestPlanOfABaselineAlone(t *testing.T) {
	only := "{lab: {name: x, engine: {name: documentdb}}, run: {workload: {records: 1000}, load: {duration: 2s}}, trials: 2, factors: [{path: lab.topology.members, levels: [1, 3]}]}"
	p := planFor(t, folder(t, "parts: [{study: only.yaml}]", map[string]string{"only.yaml": only}), PlanOptions{Against: embeddedTarget, Data: t.TempDir()})
	if n := len(p.Parts[0].Study.Configurations); n != 1 || p.Parts[0].Out() {
		t.Errorf("%d configurations: %s", n, leftOf(p))
	}
	if got := leftOf(p); !strings.Contains(got, "only what is compared >the baseline alone") {
		t.Errorf("%s", got)
	}
}

// The time that is printed is the one that the suite was fitted into, and a second value of a part is left out before
// too few trials of both are done. Where the first cannot be done here, the second is no second value.
func TestPlanOfATimeThatWasGiven(t *testing.T) {
	const each = `
parts:
  - {study: lab.yaml, each: {workload.name: [a, b]}, vital: true}
  - {name: dir, probe: {storage: {backend: directory}, threads: [4, 8], duration: 1s}}
`
	dir := folder(t, each, map[string]string{"lab.yaml": strings.Replace(labStudy, "trials: 2", "trials: 6", 1)})
	whole := planFor(t, dir, PlanOptions{})
	if whole.Budget != record.BudgetFull || len(whole.Parts) != 3 || whole.Parts[0].Plan.Of != "lab" ||
		whole.Parts[1].Plan.Of != "lab" {
		t.Fatalf("%s, %+v", whole.Budget, whole.Parts)
	}
	second := false
	for limit := whole.Estimate(); limit > 20*time.Second; limit = limit * 9 / 10 {
		p := planFor(t, dir, PlanOptions{Limit: limit})
		if p.Budget != record.BudgetTime || p.Estimate() > limit && !p.Parts[2].Out() {
			t.Errorf("%s: %v for %v", p.Budget, p.Estimate(), limit)
		}
		if p.Parts[0].Out() {
			t.Errorf("%v: %s", limit, p.Parts[0].Problem)
		}
		second = second || p.Parts[1].Out() && strings.Contains(p.Parts[1].Problem,
			"another value") && p.Parts[0].Study.Spec.Trials >= 4 && !p.Parts[2].Out()
	}
	if !second {
		t.Error("the second value was never left out alone")
	}
	cannot := func(_ spec.Lab, asked spec.Run) error {
		if asked.Workload.Name == "a" {
			return errors.New("there is no room for a")
		}
		return nil
	}
	p := planFor(t, dir, PlanOptions{Limit: whole.Estimate() / 20, Study: study.PlanOptions{CheckLab: cannot}})
	if !p.Parts[0].Out() || strings.Contains(p.Parts[1].Problem, "another value") {
		t.Errorf("%s, %s", p.Parts[0].Problem, p.Parts[1].Problem)
	}
}

// numbers is a list of so many values.
func numbers(n int) string {
	var list []string
	for i := range n {
		list = append(list, strconv.Itoa(i+1))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// FuzzOpen reads whatever is written as suite.yaml: it ends with parts that have directories of their own, or an error
// that has lines and names the file.
func FuzzOpen(f *testing.F) {
	for _, text := range []string{allKinds, "parts: [{study: base.yaml, name: ../x}]", "parts: [{study: ../../x}]", "parts: &a [*a]", "{", "parts: [{study: threads.yaml, each: {workload.name: [a, ../b]}}]",
		"parts: [{study: threads.yaml, each: {load.workers: [1, 2], workload.seed: [1, 2]}}]", "parts: [{name: a, probe: {storage: {backend: directory}}}]", "scale: {data: 1/0}\nparts: []", "published: x"} {
		f.Add(text)
	}
	dir := f.TempDir()
	for name, text := range map[string]string{"threads.yaml": plainStudy, "base.yaml": foundStudy, "lab.yaml": labStudy} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		x, err := Open(dir)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.Contains(line, File) {
					t.Errorf("%q: the error does not name the place: %q", text, line)
				}
			}
			return
		}
		seen := map[string]bool{}
		for _, p := range x.Pieces {
			if !filepath.IsLocal(p.Name) || strings.ContainsAny(p.Name, `/\`) || len(p.Name) > longestName || seen[p.Name] {
				t.Errorf("%q: a part called %q", text, p.Name)
			}
			seen[p.Name] = true
		}
	})
}
