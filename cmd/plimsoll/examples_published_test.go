package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/study"
)

// repeats says which sweeps of its document each example repeats, level by level; a report sets them side by side.
var repeats = map[string]string{
	"policy-storage/baseline.yaml": "",
	"policy-storage/client-a.yaml": "policy-storage/figure-2,figure-4,figure-8,figure-18",
	"policy-storage/client-b.yaml": "policy-storage/figure-3,figure-5,figure-9,figure-19",
	"policy-storage/policy-a.yaml": "policy-storage/figure-6,figure-12,figure-14,figure-16,figure-20,figure-22",
	"policy-storage/policy-b.yaml": "policy-storage/figure-7,figure-13,figure-15,figure-17,figure-21,figure-23",
	"policy-storage/nodes-a.yaml":  "policy-storage/figure-10,table-6",
	"policy-storage/nodes-b.yaml":  "policy-storage/figure-11,table-6",
	"write-concern/latency.yaml":   "write-concern/write-concern,journal",
	"write-concern/journal.yaml":   "write-concern/journal",
	"write-concern/members.yaml":   "",
	"failover/cost.yaml":           "failover/results",
	"storage-io/volumes.yaml":      "",
	"ssd-vs-disk/workload-a.yaml":  "ssd-vs-disk/table-1-a",
	"ssd-vs-disk/workload-b.yaml":  "ssd-vs-disk/table-1-b",
	"ssd-vs-disk/workload-c.yaml":  "ssd-vs-disk/table-1-c",
	"ssd-vs-disk/workload-d.yaml":  "ssd-vs-disk/table-1-d",
	"ssd-vs-disk/workload-f.yaml":  "ssd-vs-disk/table-1-f",
}

// Each document has its folder, and each study there fits the schema, names its levels as the document does, and can be
// planned where its engine is.
func TestExamplesOfDocuments(t *testing.T) {
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
			t.Run(name, func(t *testing.T) { checkExample(t, file, repeats[name]) })
		}
	}
	for name := range repeats {
		if !slices.Contains(have, name) {
			t.Errorf("there is no example %s", name)
		}
	}
}

func checkExample(t *testing.T, file, repeated string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fitsSchema(t, file, text, schema.StudySpec)
	spec, err := record.ReadStudySpec(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(file, "../../examples/"), ".yaml"), "/", "-"); spec.Name != want {
		t.Errorf("the study is called %s, want %s", spec.Name, want)
	}
	if spec.Published != repeated {
		t.Errorf("it shows %q beside its results, want %q", spec.Published, repeated)
	}
	if repeated != "" {
		if _, sweeps, err := published.Select(repeated); err != nil {
			t.Error(err)
		} else {
			for _, sweep := range sweeps {
				namesLevelsAs(t, spec, sweep)
			}
		}
	}
	planExample(t, spec)
}

// namesLevelsAs holds the levels of a study against those of the sweep that it repeats.
func namesLevelsAs(t *testing.T, spec record.StudySpec, sweep *published.Sweep) {
	t.Helper()
	for _, f := range spec.Factors {
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

// planExample plans a study; where an engine or root is missing, that must be all that is.
func planExample(t *testing.T, spec record.StudySpec) {
	t.Helper()
	p, err := study.NewPlan(spec, planOptions(&environment{getenv: os.Getenv}))
	switch {
	case err == nil:
		t.Logf("takes %s", p.Estimate.Text())
	case strings.Contains(err.Error(), "is not installed"), os.Getuid() != 0, strings.Contains(err.Error(), "does not fit"):
		t.Logf("not planned here: %v", err)
		if spec.Lab.Engine.Name != record.LabMongod && os.Getenv("PLIMSOLL_REQUIRE_ENGINE") != "" {
			t.Error(err)
		}
	default:
		t.Error(err)
	}
}

// Each document has a page with working links, which names every contradiction of the data, and whose commands do what
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
		checkLinks(t, top, page, string(text))
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

// planDocumented performs a command of a page: one that plans, in this environment, because a plan looks for the engine.
func planDocumented(t *testing.T, line string) {
	t.Helper()
	file, plans := strings.CutPrefix(line, "plimsoll study plan ")
	if !plans {
		runDocumented(t, line)
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	spec, err := record.ReadStudySpec(bytes.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	planExample(t, spec)
}
