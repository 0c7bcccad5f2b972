package fit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// folder reads the parts of an example as a suite does, without looking at the machine.
func folder(t *testing.T, name string) []Part {
	t.Helper()
	dir := filepath.Join("../../examples", name)
	suite := readPart(t, filepath.Join(dir, "suite.yaml"), func(f *os.File) (spec.Suite, error) { return spec.ReadSuite(f) })
	var parts []Part
	for _, p := range suite.Parts {
		if slices.Contains(p.Needs, "mongod") || slices.Contains(p.Needs, "md") || slices.Contains(p.Needs, "lvm") {
			continue // is not there
		}
		for i, set := range each(p) {
			part := Part{Name: p.NameOf(), Vital: p.Vital, Variant: i > 0}
			switch {
			case p.Study != "":
				asked := readPart(t, filepath.Join(dir, p.Study), func(f *os.File) (spec.Study, error) { return spec.ReadStudy(f) })
				run, err := study.Apply(asked.Run, set)
				if err != nil {
					t.Fatal(err)
				}
				asked.Run = run
				if asked, err = study.Complete(asked); err != nil {
					t.Fatal(err)
				}
				part.Study = &asked
			case p.Drill != "":
				asked := readPart(t, filepath.Join(dir, p.Drill), func(f *os.File) (spec.Drill, error) { return spec.ReadDrill(f) })
				run, err := study.Apply(asked.Run, set)
				if err != nil {
					t.Fatal(err)
				}
				asked.Run, asked.Repeat = run, max(asked.Repeat, p.Repeat)
				if err := asked.Complete(); err != nil {
					t.Fatal(err)
				}
				part.Drill = &asked
			default:
				part.Probe = p.Probe
			}
			for _, v := range set {
				part.Name += "-" + fmt.Sprint(v)
			}
			parts = append(parts, part)
		}
	}
	return parts
}

// each are the values that a part is repeated for: of one key, as all documents have it.
func each(p spec.Part) []map[string]any {
	all := []map[string]any{}
	for key, values := range p.Each {
		for _, v := range values {
			all = append(all, map[string]any{key: v})
		}
	}
	if len(all) == 0 {
		all = append(all, nil)
	}
	return all
}

func readPart[T any](t *testing.T, file string, read func(*os.File) (T, error)) T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := read(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// documents are the folders of the five documents.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../examples/*/suite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range files {
		list = append(list, filepath.Base(filepath.Dir(f)))
	}
	return list
}

// Each document fits into ten minutes and into about one, with what it is mainly about still compared.
func TestDocumentsAreFitted(t *testing.T) {
	if len(documents(t)) < 3 {
		t.Fatalf("only %v", documents(t))
	}
	for _, name := range documents(t) {
		t.Run(name, func(t *testing.T) {
			parts := folder(t, name)
			full, _ := Fit(parts, 0, false)
			quick, left := Fit(parts, 10*time.Minute, false)
			describeFit(t, "quick", full, quick, left)
			if s := seconds(quick); s > 600 {
				t.Errorf("quick takes %.0f s", s)
			}
			for _, p := range quick {
				if p.Out && !p.Variant {
					t.Errorf("%s is left out of quick: %s", p.Name, p.Why)
				}
				if p.Study != nil && p.Study.Trials < leastTrials {
					t.Errorf("%s has %v trials, which are too few for a verdict", p.Name, p.Study.Trials)
				}
			}
			smoke, left := Fit(parts, time.Minute, true)
			describeFit(t, "smoke", full, smoke, left)
			if s := seconds(smoke); s > 75 {
				t.Errorf("smoke takes %.0f s", s)
			}
			for _, kind := range []string{record.KindStudy, record.KindDrill, record.KindProbe} {
				if has(full, kind) && !has(smoke, kind) {
					t.Errorf("smoke has no %s", kind)
				}
			}
		})
	}
}

func has(parts []Part, kind string) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return !p.Out && p.kind() == kind })
}

func seconds(parts []Part) (sum float64) {
	for _, p := range parts {
		sum += p.Estimate
	}
	return sum
}

func describeFit(t *testing.T, what string, full, fitted []Part, left []spec.Left) {
	t.Helper()
	t.Logf("%s: %.0f s of %.0f s", what, seconds(fitted), seconds(full))
	for i, p := range fitted {
		t.Logf("  %-28s %6.0f s -> %4.0f s %s", p.Name, full[i].Estimate, p.Estimate, p.Why)
	}
	for _, l := range left {
		t.Logf("    %s: %s: %s -> %s (%s)", l.Part, l.What, l.From, l.To, l.Why)
	}
}
