package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// abStudy is the study that a command line makes.
func abStudy(t *testing.T, args ...string) (spec.Study, error) {
	t.Helper()
	env := &environment{getenv: os.Getenv}
	var o abOptions
	cmd := &cobra.Command{Use: "ab"}
	cmd.SetContext(t.Context())
	o.run.settings = addSettings(cmd, &spec.Run{}, runSettings)
	cmd.Flags().StringArrayVar(&o.a, "a", nil, "")
	cmd.Flags().StringArrayVar(&o.b, "b", nil, "")
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	o.limit, o.most = "15m", 32
	s, err := o.study(cmd, env, cmd.Flags().Args())
	if err == nil {
		s, err = study.Complete(s)
	}
	if err == nil {
		_, err = study.NewPlan(s, study.PlanOptions{})
	}
	return s, err
}

// runRecord keeps the record of a run on a lab with so many cores, or on a target.
func runRecord(t *testing.T, target string, cores float64, change func(*spec.Run)) string {
	t.Helper()
	r := record.Run{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindRun, Status: record.Complete}}
	r.Specification.Target = target
	if change != nil {
		change(&r.Specification)
	}
	r.Specification.Defaults()
	if cores > 0 {
		l := spec.Lab{Name: strings.TrimPrefix(target, "lab:"), Hosts: spec.Hosts{Mode: "isolated", Cores: cores},
			Engine: spec.Engine{Name: "mongod"}}
		l.Defaults()
		r.Lab = &record.Lab{Name: l.Name, Specification: l}
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, record.RunFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The sides of ab become the levels of a study: what differs, and nothing else.
func TestABMakesAStudy(t *testing.T) {
	workers := func(n spec.Count) func(*spec.Run) { return func(r *spec.Run) { r.Load.Workers = n } }
	for name, c := range map[string]struct {
		args   []string
		target string
		path   string
		a, b   any
		metric string
		cores  float64
	}{
		"targets":      {args: []string{"mongodb://a/", "mongodb://b/"}, target: "mongodb://a/", path: "target", a: "mongodb://a/", b: "mongodb://b/"},
		"a flag":       {args: []string{"mongodb://a/", "--a", "threads=8", "--b", "threads=16"}, target: "mongodb://a/", path: "load.workers", a: 8, b: 16},
		"a key":        {args: []string{"mongodb://a/", "--b", "durability.w=majority"}, target: "mongodb://a/", path: "durability.w", a: nil, b: "majority"},
		"an open loop": {args: []string{"mongodb://a/", "--rate", "100", "--a", "threads=8", "--b", "threads=16"}, target: "mongodb://a/", path: "load.workers", a: 8, b: 16, metric: "mean"},
		"records": {args: []string{runRecord(t, "mongodb://a/", 0, workers(8)),
			runRecord(t, "mongodb://a/", 0, workers(16))}, target: "mongodb://a/", path: "load.workers", a: 8, b: 16},
		"records of a lab": {args: []string{runRecord(t, "lab:one", 1, workers(8)),
			runRecord(t, "lab:one", 1, workers(16))}, target: "lab:one", path: "load.workers", a: 8, b: 16},
		"records of two labs": {args: []string{runRecord(t, "lab:one", 1, nil),
			runRecord(t, "lab:two", 1, nil)}, target: "lab:one", path: "target", a: "lab:one", b: "lab:two"},
		"records of unequal labs": {args: []string{runRecord(t, "lab:one", 1, nil),
			runRecord(t, "lab:one", 2, nil)}, target: "lab:study-ab", path: "lab.hosts.cores", a: 1, b: 2,
			cores: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := abStudy(t, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			levels := s.Factors[0].Levels
			if a, b := levels[0].Set[c.path], levels[1].Set[c.path]; !equalText(a, c.a) || !equalText(b, c.b) ||
				len(levels[0].Set) != 1 {
				t.Errorf("A sets %v, B sets %v", levels[0].Set, levels[1].Set)
			}
			want := "throughput"
			if c.metric != "" {
				want = c.metric
			}
			if s.Run.Target != c.target || !s.UntilDecided || s.Metrics[0] != want || (s.Lab != nil) != (c.cores > 0) {
				t.Errorf("%+v", s)
			}
		})
	}
}

func equalText(got, want any) bool {
	b, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	return string(b) == string(w) || strings.Trim(string(b), `"`) == string(w)
}

// What is no pair of sides is refused, with the reason.
func TestABRefuses(t *testing.T) {
	hidden := runRecord(t, "mongodb://u:***@a/", 0, nil)
	for want, args := range map[string][]string{
		"does not contain the credentials": {hidden, hidden},
		"starts a lab and the other":       {runRecord(t, "lab:one", 1, nil), "mongodb://a/"},
		"the same run":                     {runRecord(t, "lab:one", 1, nil), runRecord(t, "lab:one", 1, nil)},
		"has no record":                    {t.TempDir(), "mongodb://a/"},
	} {
		if _, err := abStudy(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
