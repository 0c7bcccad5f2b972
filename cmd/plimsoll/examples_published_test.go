package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/suite"
)

// repeats says which sweeps of its document each example repeats, level by level; a report sets them side by side.
var repeats = map[string]string{
	"policy-storage/baseline.yaml":       "policy-storage/table-5",
	"policy-storage/client.yaml":         "policy-storage/figure-2,figure-3,figure-4,figure-5,figure-8,figure-9,figure-18,figure-19",
	"policy-storage/policy.yaml":         "policy-storage/figure-6,figure-7,figure-12,figure-13,figure-14,figure-15,figure-16,figure-17,figure-20,figure-21,figure-22,figure-23",
	"policy-storage/nodes.yaml":          "policy-storage/figure-10,figure-11,table-6",
	"policy-storage/vsphere-policy.yaml": "policy-storage/figure-14,figure-15,figure-16,figure-17,figure-20,figure-21",
	"write-concern/latency.yaml":         "write-concern/write-concern",
	"write-concern/journal.yaml":         "write-concern/journal",
	"write-concern/members.yaml":         "write-concern/replication",
	"failover/cost.yaml":                 "failover/resources",
	"storage-io/volumes.yaml":            "",
	"ssd-vs-disk/workloads.yaml":         "ssd-vs-disk/table-1-a,table-1-b,table-1-c,table-1-d,table-1-f",
}

// Each document has its folder, and each study there fits the schema, names its levels as the document does, and can be
// planned where its engine is.
func TestExamplesOfDocuments(t *testing.T) {
	t.Parallel()
	all, err := published.Documents()
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, source := range all {
		found, err := filepath.Glob("../../examples/" + source.Name + "/*.yaml")
		if err != nil || len(found) == 0 {
			t.Errorf("%s has no example (%v)", source.Name, err)
		}
		for _, file := range found {
			name := source.Name + "/" + filepath.Base(file)
			have = append(have, name)
			t.Run(name, func(t *testing.T) { checkExample(t, file, name) })
		}
	}
	for name := range repeats {
		if !slices.Contains(have, name) {
			t.Errorf("there is no example %s", name)
		}
	}
}

// checkExample looks at a file of a document: its suite, a drill, a study, or a deployment for its drills.
func checkExample(t *testing.T, file, name string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, isStudy := repeats[name]
	switch {
	case filepath.Base(file) == suite.File:
		checkSuiteExample(t, filepath.Dir(file))
	case isStudy:
		checkStudyExample(t, file, text, repeats[name])
	case filepath.Base(file) == "vsphere.yaml":
		if _, err := spec.ReadPlatform(bytes.NewReader(text)); err != nil { // TestPolicyStorageOnVSphere plans its drills
			t.Error(err)
		}
	default:
		checkDrillExample(t, file, text)
	}
}

// checkSuiteExample reads a suite with all its files. Its parts show every figure that its studies have, and no other
// studies lie beside it, except one for another platform.
func checkSuiteExample(t *testing.T, dir string) {
	folder, err := suite.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	spec := folder.Spec
	if spec.Name != filepath.Base(dir) || spec.Published != spec.Name {
		t.Errorf("the suite %s shows %s", spec.Name, spec.Published)
	}
	used := map[string]bool{}
	for _, p := range spec.Parts {
		used[p.Study] = true
		if of := repeats[spec.Name+"/"+p.Study]; of != "" {
			for _, id := range strings.Split(strings.TrimPrefix(of, spec.Name+"/"), ",") {
				if !slices.Contains(p.Shows, id) {
					t.Errorf("part %s: its study repeats %s, and the part does not show it", p.NameOf(), id)
				}
			}
		}
	}
	for name := range repeats {
		if of, file, _ := strings.Cut(name, "/"); of == spec.Name && !used[file] && file != "vsphere-policy.yaml" { // it needs a vCenter
			t.Errorf("%s is no part of its suite", name)
		}
	}
}

func checkDrillExample(t *testing.T, file string, text []byte) {
	asked, err := spec.ReadDrill(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	fitsSchema(t, file, text, schema.DrillSpec)
	if err := asked.Complete(); err != nil {
		t.Error(err)
	}
	if err := drill.Check(asked); err != nil {
		t.Error(err)
	}
	if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); asked.Name != want || asked.Lab == nil {
		t.Errorf("the drill is called %s, and has the lab %v", asked.Name, asked.Lab)
	}
}

func checkStudyExample(t *testing.T, file string, text []byte, repeated string) {
	fitsSchema(t, file, text, schema.StudySpec)
	asked, err := spec.ReadStudy(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(file, "../../examples/"), ".yaml"), "/", "-"); asked.Name != want {
		t.Errorf("the study is called %s, want %s", asked.Name, want)
	}
	if asked.Published != repeated {
		t.Errorf("it shows %q beside its results, want %q", asked.Published, repeated)
	}
	if repeated != "" {
		if _, sweeps, err := published.Select(repeated); err != nil {
			t.Error(err)
		} else {
			for _, sweep := range sweeps {
				namesLevelsAs(t, asked, sweep)
			}
		}
	}
	planExample(t, asked)
}

// namesLevelsAs holds the levels of a study against those of the sweep that it repeats.
func namesLevelsAs(t *testing.T, asked spec.Study, sweep *published.Sweep) {
	t.Helper()
	for _, f := range asked.Factors {
		if !strings.EqualFold(f.Name, sweep.Factor) {
			continue
		}
		names := map[string]bool{}
		for _, l := range f.Levels {
			name := l.Name
			if name == "" {
				name = fmt.Sprint(l.Value)
			}
			if level := sweep.Level(name); level != nil {
				names[level.Name] = true
			}
			if level := sweep.Level(name); l.Baseline && sweep.Baseline != "" && (level == nil || level.Name != sweep.Baseline) {
				t.Errorf("%s: the baseline is %q, and %q in the document", f.Name, name, sweep.Baseline)
			}
		}
		for _, l := range sweep.Levels {
			if !names[l.Name] {
				t.Errorf("%s: the document has the level %q of %s, and the study has not", f.Name, l.Name, sweep.ID)
			}
		}
		return
	}
	t.Errorf("%s varies %q, and the study has no such factor", sweep.ID, sweep.Factor)
}

// aboutOneEngine are examples about what only one engine has: MongoDB's elections, and what it promises of reads, or
// Patroni.
var aboutOneEngine = regexp.MustCompile(`^../../examples/drill/(mongod|reads|patroni|transactions)-`)

// namesOfEngines are an engine that is chosen, and members that are called by one.
var namesOfEngines = regexp.MustCompile(`name: *(mongod|documentdb)\b|\b(pg|mongod)-[0-9]`)

// An example is made of the engine that is there, unless it is about one.
func TestExamplesNameNoEngine(t *testing.T) {
	found, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(found) < 40 {
		t.Fatalf("%d examples, error %v", len(found), err)
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name := namesOfEngines.Find(text); name != nil && !aboutOneEngine.MatchString(file) {
			t.Errorf("%s is about no engine, and says %q", file, name)
		}
	}
}

// planExample plans a study on each engine; where an engine, a program or root is missing, that must be all that is.
func planExample(t *testing.T, asked spec.Study) {
	t.Helper()
	if asked.Lab == nil {
		planOnEngine(t, asked)
		return
	}
	for _, name := range []string{spec.LabMongod, spec.LabDocumentDB} {
		_, instead := asked.Without[spec.CapSharding]
		if asked.Lab.Topology.Kind == spec.LabSharded && !instead && spec.EngineLacks(name, spec.CapSharding) != "" {
			continue // its part of the suite needs sharding
		}
		of, lab := asked, *asked.Lab
		lab.Engine.Name = name
		if name == spec.LabMongod { // a stand-in is enough for a plan, and is everywhere
			lab.Engine.Binary = enginetest.StandinMongo(t, "8.0.12")
		}
		of.Lab = &lab
		planOnEngine(t, of)
	}
}

// planOnEngine plans a study with the engine of its lab, as far as that is here.
func planOnEngine(t *testing.T, asked spec.Study) {
	t.Helper()
	asked, err := study.Complete(asked)
	if err != nil {
		t.Fatal(err)
	}
	p, err := study.NewPlan(asked, planOptions(t.Context(), &environment{getenv: withRoom(t)}))
	switch {
	case err == nil:
		t.Logf("takes %s", p.Estimate.Text())
	case os.Getuid() != 0 || onlyMissing(err):
		t.Logf("not planned here: %v", err)
		if asked.Lab.Engine.Name != spec.LabMongod && os.Getenv("PLIMSOLL_REQUIRE_ENGINE") != "" {
			t.Error(err)
		}
	default:
		t.Error(err)
	}
}

// withRoom returns the environment of a plan: the engines of this machine, and a filesystem for labs that is large
// enough for the disks of every example. The free space of this machine must not decide whether an example can be
// planned.
func withRoom(t *testing.T) func(string) string {
	t.Helper()
	installed, err := engine.DefaultHome(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	home := enginetest.Home(t, installed)
	if os.Getuid() == 0 { // other users cannot mount, and need not be able to plan
		labs := filepath.Join(home, "labs")
		if err := os.Mkdir(labs, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1P", "tmpfs", labs).CombinedOutput(); err != nil {
			t.Fatalf("cannot mount a large filesystem: %v\n%s", err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("umount", labs).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	return func(name string) string {
		if name == "PLIMSOLL_HOME" {
			return home
		}
		return os.Getenv(name)
	}
}

// onlyMissing says whether all that a plan lacks is a program or an engine that is not installed here.
func onlyMissing(err error) bool {
	for line := range strings.Lines(err.Error()) {
		if !strings.Contains(line, "is not installed") && !strings.Contains(line, "… and more") {
			return false
		}
	}
	return true
}

// Each document has a page, which names every contradiction of the data, and whose commands do what
// it says. They plan, so that they need an engine.
func TestPagesOfDocuments(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := published.Documents()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	for _, source := range all {
		page := source.Name + ".md"
		text, err := os.ReadFile(filepath.Join("docs", page))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, c := range source.Contradictions {
			if !strings.Contains(string(text), "`"+c.ID+"`") {
				t.Errorf("%s does not say that %s", page, c.ID)
			}
		}
		for _, line := range shellCommands(string(text)) {
			planDocumented(t, line)
		}
	}
}

// planDocumented performs a command of a page: one that plans, in this environment, because a plan looks for the
// engine. What would run a suite is planned as well.
func planDocumented(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) < 4 || words[1] != "study" && words[1] != "suite" || words[2] != "plan" && words[2] != "run" {
		runDocumented(t, line)
		return
	}
	if isSuite(words[3]) {
		planSuiteDocumented(t, words)
		return
	}
	text, err := os.ReadFile(words[3])
	if err != nil {
		t.Error(err)
		return
	}
	asked, err := spec.ReadStudy(bytes.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v", words[3], err)
		return
	}
	planExample(t, asked)
}

func planSuiteDocumented(t *testing.T, words []string) {
	t.Helper()
	args := append([]string{words[1], "plan"}, words[3:]...)
	env, stdout, stderr := engineEnvironment("", args...)
	env.getenv = withRoom(t)
	code := mainRun(context.Background(), env)
	if code != exitSuccess || !strings.Contains(stdout.String(), "suite ") {
		t.Errorf("%s: exit code %d: %s", strings.Join(words, " "), code, stderr.String())
	}
}
