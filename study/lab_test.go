package study

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

const labStudy = `name: Members and more
lab:
  topology: {members: 3}
  storage: {tolerate: 1}
run: {workload: {records: 1k}, load: {duration: 10s}}
trials: 2
canary: -1
`

// A level may set any key of the lab, also parts that may be left out, and leaves all other labs as they are.
func TestLevelsOfALab(t *testing.T) {
	p := plan(t, labStudy+`
factors:
  - {path: lab.topology.members, levels: [3, 1]}
  - {path: lab.hosts.cores, levels: [{name: two, set: {lab.hosts.mode: isolated, lab.hosts.cores: 2}}, {name: half, set: {lab.hosts.mode: isolated, lab.hosts.cores: 0.5}}]}
  - {path: lab.storage.cache, levels: [{name: without, set: {lab.storage.cache: null}}, {name: cached, set: {lab.storage.cache.device: nvme, lab.storage.cache.size: 100MiB}}]}
  - {path: lab.storage.checksum, levels: [true, false]}
  - {path: lab.engine.parameters.work_mem, levels: [4MB, 8MB]}
  - {name: size, levels: [{name: small, set: {workload.records: 1k, lab.availability.restart: true}}, {name: large, set: {workload.records: 2k, lab.availability.restart: false}}]}`)
	for id, is := range map[string]func(spec.Lab) bool{
		"baseline": func(l spec.Lab) bool {
			return l.Topology.Members == 3 && l.Hosts.Cores == 2 && l.Storage.Cache == nil && *l.Storage.Checksum &&
				l.Name == "study-members-and-more" && l.Hosts.Count == 3
		},
		"members=1": func(l spec.Lab) bool {
			return l.Topology.Members == 1 && l.Hosts.Count == 2 && l.Hosts.Cores == 2
		},
		"cores=half":     func(l spec.Lab) bool { return l.Hosts.Cores == 0.5 && l.Topology.Members == 3 },
		"cache=cached":   func(l spec.Lab) bool { return l.Storage.Cache != nil && l.Storage.Cache.Size == 100<<20 },
		"checksum=false": func(l spec.Lab) bool { return l.Storage.Checksum != nil && !*l.Storage.Checksum },
		"work_mem=8MB":   func(l spec.Lab) bool { return l.Engine.Parameters["work_mem"] == "8MB" },
		"size=large":     func(l spec.Lab) bool { return !l.Availability.Restart },
	} {
		l, ok := p.LabSpec(id)
		if !ok || !is(l) {
			t.Errorf("%s: %v, %+v", id, ok, l)
		}
		if spec, err := p.RunSpec(id); err != nil || spec.Target != "lab:study-members-and-more" {
			t.Errorf("%s loads %s (%v)", id, spec.Target, err)
		}
	}
	large, err := p.RunSpec("size=large")
	if err != nil || large.Workload.Records != 2000 || large.Database != "plimsoll" {
		t.Errorf("size=large: %+v (%v): another lab has no documents of this one", large, err)
	}
	base, _ := p.LabSpec("baseline")
	if p.labs["members=1"].Engine.Parameters["work_mem"] != base.Engine.Parameters["work_mem"] {
		t.Error("a level changed the map of another configuration")
	}
}

// The plan says how often a lab is brought up, what that takes, and what an order that saves it costs in certainty.
func TestRedeploys(t *testing.T) {
	factors := "factors: [{path: lab.topology.members, levels: [3, 1]}, {path: load.workers, levels: [16, 4]}]\n"
	blocks := plan(t, labStudy+factors)
	batched := plan(t, labStudy+"order: batched\n"+factors)
	text := strings.Join(blocks.Order, "\n")
	if !strings.Contains(text, "2 different labs") || !strings.Contains(text, "order: batched would") {
		t.Errorf("blocks: %s", text)
	}
	if text := strings.Join(batched.Order, "\n"); !strings.Contains(text, "brought up 2 times") ||
		!strings.Contains(text, "limitation:") || !strings.Contains(text, "batched by members") {
		t.Errorf("batched: %s", text)
	}
	if b, c := blocks.Estimate, batched.Estimate; b.Redeploys < c.Redeploys || c.Redeploys != 2 ||
		c.Redeploying != 2*assumedRedeploy {
		t.Errorf("blocks %d, batched %d redeploys in %v s", b.Redeploys, c.Redeploys, c.Redeploying)
	}
	loads := 0
	for _, s := range blocks.Estimate.DataSets {
		loads += s.Loads
	}
	if loads != blocks.Estimate.Redeploys {
		t.Errorf("data are loaded %d times into labs that are brought up %d times", loads, blocks.Estimate.Redeploys)
	}
	measured, err := newPlan(read(t, labStudy+factors), PlanOptions{Redeploy: 100})
	if err != nil || measured.Estimate.Redeploying != 100*float64(measured.Estimate.Redeploys) {
		t.Errorf("%v s for %d redeploys (%v)", measured.Estimate.Redeploying, measured.Estimate.Redeploys, err)
	}
	one := plan(t, labStudy+"factors: [{path: load.workers, levels: [16, 4]}]\n")
	if text := strings.Join(one.Order, "\n"); one.Estimate.Redeploys != 1 || !strings.Contains(text, "no factor changes it") {
		t.Errorf("%d redeploys: %s", one.Estimate.Redeploys, text)
	}
}

// What a lab cannot take is refused when it is planned, naming the trial.
func TestMistakesOfLabs(t *testing.T) {
	mistake(t, labStudy+"factors: [{path: lab.topology.members, levels: [3, 99]}]", "trial ", "configuration members=99: lab.topology.members: 99 is not between")
	mistake(t, labStudy+"factors: [{path: lab.hosts.cores, levels: [1, 2]}]", "configuration baseline: lab.hosts: cores, memory and network are limits of isolated hosts")
	mistake(t, labStudy+"factors: [{path: lab.hosts.cores, levels: [one, 2]}]", `lab.hosts.cores: "one" is not a number`)
	mistake(t, labStudy+"factors: [{path: lab.storage.backend, levels: [btfrs, disk]}]", `unknown value "btfrs"`)
	mistake(t, withTarget("factors: [{path: lab.hosts.cores, levels: [1, 2]}]"), "the study has no lab. Describe it")
	mistake(t, "run: {target: 'lab:mine'}\nfactors: [{path: lab.hosts.cores, levels: [1, 2]}]", "lab:mine is already running")
	mistake(t, strings.Replace(labStudy, "run: {", "run: {target: 'lab:mine', ", 1), "run.target: the study starts the lab study-members-and-more")
	mistake(t, strings.Replace(labStudy, "lab:", "lab:\n  name: My Lab", 1), "is not a name for a lab")
	_, err := newPlan(read(t, labStudy+"factors: [{path: lab.storage.stripe, levels: [1, 8]}]"), PlanOptions{
		CheckLab: func(l spec.Lab, _ spec.Run) error {
			if l.Storage.Stripe == 8 {
				return errors.New("this machine cannot do that")
			}
			return nil
		}})
	if err == nil || !strings.Contains(err.Error(), "configuration stripe=8: this machine cannot do that") {
		t.Errorf("error %v", err)
	}
}

// Every key of a lab can be set by its path.
func TestAllKeysOfALab(t *testing.T) {
	for _, path := range below(reflect.TypeFor[spec.Lab](), "lab") {
		path = strings.Replace(path, ".NAME", ".x", 1)
		f, err := find(path)
		if err != nil {
			t.Error(err)
			continue
		}
		set := false
		for _, sample := range []any{3, "4GiB", "10s", true, 0.5, []any{"a"}, []any{1.5}, "text"} {
			v, err := spec.Convert(f.Type, sample)
			if err != nil {
				continue
			}
			var w settings
			f.Set(&w, v)
			if got, given := f.Get(&w); given && fmt.Sprint(plain(got)) == fmt.Sprint(plain(v)) {
				set = true
			}
		}
		if !set {
			t.Errorf("%s cannot be set", path)
		}
	}
}
