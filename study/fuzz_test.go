package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// FuzzPlan plans whatever can be read: it must end with a plan or an error, and a plan must be whole.
func FuzzPlan(f *testing.F) {
	files, err := filepath.Glob("testdata/plan/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no studies to begin with", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("factors: [{path: load.stages, levels: [{name: a, value: [{rate: 1, step: true}]}, {name: b, value: null}]}]")
	f.Add("factors: [{path: labels.x, levels: [1, 2]}]\norder: batched\nbatch: [x]\ncanary: 3")
	f.Fuzz(func(t *testing.T, text string) {
		asked, err := spec.ReadStudy(strings.NewReader(text))
		if err != nil || asked.Trials > 50 || asked.Fraction > 50 || len(text) > 4000 {
			return
		}
		p, err := newPlan(asked, PlanOptions{Check: func(spec.Run) error { return nil }})
		if p == nil {
			if err == nil {
				t.Error("neither plan nor error")
			}
			return
		}
		for _, trial := range p.Trials {
			if _, err := p.RunSpec(trial.Configuration); err != nil {
				t.Error(err)
			}
		}
		p.Shown()
	})
}
