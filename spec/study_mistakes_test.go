package spec

import (
	"strings"
	"testing"
)

// What the reader of YAML would say of its own inside is said of the file.
func TestMistakesInStudiesAreOfTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"name: x\nseed: -1":                   `line 2: seed: "-1" is not a whole number from 0`,
		"name: x\nsettle: -1s":                `line 2: settle: "-1s" is not a time`,
		"reload: perhaps":                     `line 1: reload: "perhaps" is neither true nor false`,
		"procedures: {steady: {factor: two}}": `procedures.steady.factor: "two" is not a number`,
		"run: {workload: {seed: 1.5}}":        `run.workload.seed: "1.5" is not a whole number from 0`,
	} {
		_, err := ReadStudy(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "construct") ||
			strings.Count(err.Error(), "line ") != 1 {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestStudiesThatSayNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing", "{}", "name: x\ntrials: 3"} {
		spec, err := ReadStudy(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		spec.Defaults()
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "there is nothing to do") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNamesOfFactorsThatSayWhatTheyAre(t *testing.T) {
	for path, want := range map[string]string{"durability.name": "durability", "workload.name": "workload", "load.workers": "workers", "target": "target"} {
		f := Factor{Path: path}
		if f.defaults(); f.Name != want {
			t.Errorf("%s is called %q, want %q", path, f.Name, want)
		}
	}
}

// A negative number of workers is one mistake, and limits are written out.
func TestNegativeWorkers(t *testing.T) {
	s := Run{Load: Load{Workers: -1}}
	s.Defaults()
	if err := s.Validate(); err == nil || err.Error() != "load.workers: -1 is not between 0 and 1048576" {
		t.Errorf("%v", err)
	}
}
