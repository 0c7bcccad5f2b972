package study

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestApply(t *testing.T) {
	yes := true
	base := spec.Run{
		Client: "driver", Labels: map[string]string{"host": "blue"},
		Workload: spec.Workload{Records: 5, Params: map[string]string{"fieldcount": "10"}},
		Load:     spec.Load{Rate: 100},
	}
	got, err := Apply(base, map[string]any{
		"load.workers": "1k", "load.duration": "1m30s", "load.rate": nil, "workload.records": 50e6, "workload.seed": "18446744073709551615",
		"workload.params.fieldlength": 200, "workload.params.a.b": true, "labels.nodes": 4, "durability.w": 2, "durability.journal": true,
		"objectives": []any{"p99<20ms"}, "load_phase.drop": "true", "target": "null:",
		"load.stages": []any{map[string]any{"duration": "30s", "workers": 8, "step": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := spec.Run{
		Target: "null:", Client: "driver", Labels: map[string]string{"host": "blue", "nodes": "4"},
		Workload: spec.Workload{
			Records: 50e6, Seed: 1<<64 - 1, Params: map[string]string{"fieldcount": "10", "fieldlength": "200", "a.b": "true"},
		},
		Load: spec.Load{
			Workers: 1000, Duration: spec.Duration(90e9), Stages: []spec.Stage{{Duration: spec.Duration(30e9), Workers: 8,
				Step: true}},
		},
		LoadPhase: spec.LoadPhase{Drop: true}, Durability: spec.Durability{W: "2", Journal: &yes}, Objectives: []string{"p99<20ms"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after Apply (-want +got):\n%s", diff)
	}
	if len(base.Labels) != 1 || len(base.Workload.Params) != 1 {
		t.Errorf("the base run was changed: %+v", base)
	}
}

func TestApplySaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		path  string
		value any
		want  string
	}{
		{"load.worker", 1, "did you mean load.workers?"},
		{"workers", 1, "did you mean load.workers?"},
		{"threads", 1, "did you mean load.workers?"},
		{"workload.recordcount", 1, "did you mean workload.records?"},
		{"durability.j", true, "did you mean durability.journal?"},
		{"label.nodes", 1, "no such key"},
		{"load.workers.more", 1, "no such key"},
		{"", 1, "keys below it"},
		{"load.", 1, "Name one of them: load.workers"},
		{"nothing like it at all", 1, "known: target,"},
		{"load", 1, "Name one of them: load.workers, load.clients, load.place"},
		{"labels", 1, "Write labels.NAME"},
		{"workload.params", 1, "Write workload.params.NAME"},
		{"out", "x", "the study sets the directories"},
		{"load_phase.only", true, "measures nothing"},
		{"lab.hosts", 4, "Name one of them: lab.hosts.mode, "},
		{"lab", 4, "Name one of them: lab.hosts.mode, "},
		{"lab.hosts.cores", 2, "belongs to a lab, not to a run"},
		{"lab.topology.settings", 2, "Write lab.topology.settings.NAME"},
		{"lab.name", "x", "has one name"},
		{"lab.labels.x", "x", "labels have no effect"},
		{"lab.nodes", 3, "did you mean lab.topology.members?"},
		{"cores", 3, "did you mean lab.hosts.cores?"},
		{"lab.hosts.core", 3, "did you mean lab.hosts.cores?"},
		{"load.workers", "many", `load.workers: "many" is not a number`},
		{"load.workers", 1.5, `"1.5" is not a whole number`},
		{"load.workers", true, `"true" is not a number`},
		{"load.duration", 60, "did you mean 60s?"},
		{"load.workers", []any{1}, "single value"},
		{"load.workers", map[string]any{"a": 1}, "single value"},
		{"durability.journal", "maybe", "neither true nor false"},
		{"workload.seed", -1, "whole number from 0"},
		{"objectives", "p99<20ms", "is not a list"},
		{"load.stages", []any{map[string]any{"dration": "1s"}}, "load.stages: entry 1: unknown key \"dration\", did you mean duration?"},
		{"load.stages", []any{"1s"}, "keys are needed here (duration, rate, workers, step)"},
		{"load.stages", []any{map[string]any{"duration": 5}}, "entry 1: duration: the time \"5\" needs a unit"},
	} {
		_, err := Apply(spec.Run{}, map[string]any{c.path: c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v: error %v, want one line with %q", c.path, c.value, err, c.want)
		}
	}
}

// samples are values for every type that a run specification has.
var samples = map[reflect.Type]any{
	reflect.TypeFor[string](): "text", reflect.TypeFor[bool](): true, reflect.TypeFor[*bool](): false,
	reflect.TypeFor[uint64](): 7, reflect.TypeFor[float64](): 1.5,
	reflect.TypeFor[spec.Count](): "2k", reflect.TypeFor[spec.Rate](): "2.5k",
	reflect.TypeFor[spec.Share]():    "20%",
	reflect.TypeFor[spec.Duration](): "90s", reflect.TypeFor[[]string](): []any{"errors<1%"},
	reflect.TypeFor[[]spec.Stage](): []any{map[string]any{"rate": "1k", "step": true}},
}

// Every key of a run can be a factor, what was set can be read, and its plain form, which records keep, sets the same
// again. A key of a new type fails here until samples has one.
func TestEveryKeyCanBeSet(t *testing.T) {
	paths := below(reflect.TypeFor[spec.Run](), "")
	if len(paths) < 30 {
		t.Fatalf("only %d paths: %v", len(paths), paths)
	}
	for _, path := range paths {
		path = strings.ReplaceAll(path, "NAME", "some.name")
		f, err := find(path)
		if err != nil {
			t.Error(err)
			continue
		}
		sample, ok := samples[f.Type]
		if !ok {
			t.Errorf("%s is a %v: give samples one, and see that Convert reads it", path, f.Type)
			continue
		}
		asked, err := Apply(spec.Run{}, map[string]any{path: sample})
		if err != nil {
			t.Error(err)
			continue
		}
		v, given := f.Get(&settings{Run: asked})
		again, err := Apply(spec.Run{}, map[string]any{path: plain(v)})
		if err != nil || !given || !cmp.Equal(asked, again) {
			t.Errorf("%s: %v is kept as %v (%v), which sets %+v", path, sample, plain(v), err, again)
		}
	}
}
