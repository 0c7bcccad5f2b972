package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const documentStudy = `
name: document
lab:
  hosts: {mode: isolated, cores: 8, memory: 64GiB, router: {cores: 16, memory: 64GiB}, config: {cores: 4, memory: 32GiB}}
  storage: {size: 768GiB, stripe: 2, tolerate: 1, device: sata-ssd, cache: {device: nvme, size: 64GiB}}
  engine: {name: documentdb, cache: 16GiB}
  topology: {kind: standalone}
run:
  workload: {name: a, records: 25M}
  load: {workers: 128, warmup: 10s, duration: 60s}
procedures:
  baseline: {threads: {levels: [32, 64, 96, 128]}, steady: {from: 60, to: 480}}
factors:
  - name: client threads
    path: load.workers
    levels: [32, 64, 128]
  - name: cores and memory
    levels:
      - {name: 8C+64GB, set: {lab.hosts.cores: 8, lab.hosts.memory: 64GiB}, baseline: true}
      - {name: 16C+96GB, set: {lab.hosts.cores: 16, lab.hosts.memory: 96GiB}}
  - path: lab.storage.stripe
    levels: [2, 4]
  - path: workload.records
    levels: [12.5M, 25M]
`

func readScaled(t *testing.T, text string, by Scale) (Study, []Left) {
	t.Helper()
	spec, err := ReadStudy(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	before := mustTree(t, spec)
	out, left, err := spec.Scaled(by)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, mustTree(t, spec)); diff != "" {
		t.Errorf("the study itself was changed:\n%s", diff)
	}
	return out, left
}

// What keeps the ratios of a document is scaled, in the base as in the levels; what has a meaning of its own is not.
func TestStudyIsScaled(t *testing.T) {
	out, left := readScaled(t, documentStudy, Scale{Data: 1.0 / 128, Workers: 1.0 / 8, Cores: 1.0 / 16})
	if len(left) > 0 {
		t.Errorf("left %v", left)
	}
	want := strings.NewReader(`
name: document
lab:
  hosts: {mode: isolated, cores: 0.5, memory: 512MiB, router: {cores: 1, memory: 512MiB}, config: {cores: 0.25, memory: 256MiB}}
  storage: {size: 6GiB, stripe: 2, tolerate: 1, device: sata-ssd, cache: {device: nvme, size: 512MiB}}
  engine: {name: documentdb, cache: 128MiB}
  topology: {kind: standalone}
run:
  workload: {name: a, records: 195k}
  load: {workers: 16, warmup: 10s, duration: 60s}
procedures:
  baseline: {threads: {levels: [4, 8, 12, 16]}, steady: {from: 60, to: 480}}
factors:
  - name: client threads
    path: load.workers
    levels: [{name: "32", value: 4}, {name: "64", value: 8}, {name: "128", value: 16}]
  - name: cores and memory
    levels:
      - {name: 8C+64GB, set: {lab.hosts.cores: 0.5, lab.hosts.memory: 512MiB}, baseline: true}
      - {name: 16C+96GB, set: {lab.hosts.cores: 1, lab.hosts.memory: 768MiB}}
  - path: lab.storage.stripe
    levels: [2, 4]
  - path: workload.records
    levels: [{name: 12.5M, value: 97700}, {name: 25M, value: 195k}]
scale: {data: 1/128, workers: 1/8, cores: 1/16, applied: true}
`)
	spec, err := ReadStudy(want)
	if err != nil {
		t.Fatal(err)
	}
	spec.Factors[3].Levels[1].Value = 195000
	spec.Factors[1].Levels[0].Set["lab.hosts.cores"] = 0.5
	if diff := cmp.Diff(mustTree(t, spec), mustTree(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, _, err := out.Scaled(Scale{Data: 1.0 / 128})
	if err != nil || cmp.Diff(mustTree(t, out), mustTree(t, again)) != "" {
		t.Errorf("it is scaled twice (%v)", err)
	}
}

func mustTree(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	// Numbers are compared by their value, however they are written.
	return Plain(tree)
}

// Floors are kept and said, levels that become one are refused.
func TestScaleHasFloors(t *testing.T) {
	one := strings.Split(documentStudy, "procedures:")[0]
	out, left := readScaled(t, one, Scale{Data: 1.0 / 100_000, Workers: 1.0 / 1000, Cores: 1.0 / 100})
	if h := out.Lab.Hosts; h.Memory != 256<<20 || h.Cores != 0.25 || out.Lab.Storage.Size != 1<<30 ||
		out.Lab.Engine.Cache != 64<<20 || out.Run.Workload.Records != 1000 || out.Run.Load.Workers != 1 {
		t.Errorf("lab %+v, run %+v", out.Lab, out.Run)
	}
	whats := map[string]Left{}
	for _, l := range left {
		whats[l.What] = l
	}
	want := Left{What: "lab.hosts.memory", From: "64GiB", To: "256MiB", Why: "1/100000 of 64GiB is too little: no server serves with less memory"}
	if diff := cmp.Diff(want, whats["lab.hosts.memory"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(out.Floors) != len(left) || len(left) < 6 {
		t.Errorf("%d floors, and %d in the record", len(left), len(out.Floors))
	}
}

func TestScaleRefusesLevelsThatBecomeOne(t *testing.T) {
	spec, err := ReadStudy(strings.NewReader(documentStudy))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = spec.Scaled(Scale{Data: 1.0 / 512, Workers: 1.0 / 100})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`procedures.threads: the levels 32 and 64 both become 1 at 1/100`,
		`factor "client threads": the levels "32" and "64" become the same at the scale data=1/512,workers=1/100`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nwant one with %q", err, want)
		}
	}
}

// Values that no key can take are left for the plan, which says where they stand; what is a name is no number.
func TestScaleLeavesWhatItCannotRead(t *testing.T) {
	out, _ := readScaled(t, `
run: {load: {stages: [{duration: 5s, workers: 100}, {duration: 5s, workers: 0}]}}
factors:
  - {path: load.workers, levels: [many, 80]}
  - {path: load.stages, levels: [{name: up, value: [{duration: 1s, workers: 40}]}, {name: down, value: [{duration: 1s, rate: 8000}]}]}
  - {path: workload.name, levels: [a, b]}
`, Scale{Workers: 0.1, Rates: 0.5})
	if got := out.Factors[0].Levels[0].Value; got != "many" {
		t.Errorf("many became %v", got)
	}
	if s := out.Run.Load.Stages; s[0].Workers != 10 || s[1].Workers != 0 {
		t.Errorf("stages %+v", s)
	}
	want := []any{map[string]any{"duration": "1s", "workers": 4}}
	if diff := cmp.Diff(want, out.Factors[1].Levels[0].Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = []any{map[string]any{"duration": "1s", "rate": 4000}}
	if diff := cmp.Diff(want, out.Factors[1].Levels[1].Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProbeIsScaled(t *testing.T) {
	p := PartProbe{Threads: []Count{1, 2, 64, 1024}, Size: 10 << 30, Storage: Storage{Size: 64 << 30}}
	out, left := p.Scaled(Scale{Data: 1.0 / 32, Workers: 1.0 / 8})
	if diff := cmp.Diff([]Count{1, 8, 128}, out.Threads); diff != "" || out.Size != 320<<20 || out.Storage.Size != 2<<30 ||
		p.Threads[3] != 1024 {
		t.Errorf("%+v\n%s", out, diff)
	}
	if len(left) != 1 { // 2 threads became one; one thread is what it was
		t.Errorf("left %v", left)
	}
}
