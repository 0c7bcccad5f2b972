package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Every key that a lab has is in the template.
func TestLabTemplateHasEveryKey(t *testing.T) {
	hasEveryKey(t, "lab", labTemplate, reflect.TypeFor[spec.Lab]())
}

// The template and the examples are labs, and fit the schema.
func TestLabFilesAreLabs(t *testing.T) {
	files, err := filepath.Glob("../../examples/lab/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("only %v (%v)", files, err)
	}
	for _, file := range append(files, "lab_template.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := spec.ReadLab(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, engine := range []string{spec.LabMongod, spec.LabDocumentDB} {
			if asked.Engine.Name != "" && asked.Engine.Name != engine ||
				asked.Topology.Kind == spec.LabSharded && spec.EngineLacks(engine, spec.CapSharding) != "" {
				continue
			}
			of := asked
			of.Engine.Name = engine
			of.Defaults()
			if err := of.Validate(); err != nil {
				t.Errorf("%s on %s: %v", file, engine, err)
			}
			if _, err := topology.Plan(of); err != nil {
				t.Errorf("%s on %s: %v", file, engine, err)
			}
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); file != "lab_template.yaml" && asked.Name != want {
			t.Errorf("%s makes a lab called %s", file, asked.Name)
		}
		fitsSchema(t, file, text, schema.LabSpec)
	}
}

// Every flag of `lab up` is one that changes the specification, or one of the command itself.
func TestLabFlagsChangeTheSpecification(t *testing.T) {
	cmd := &cobra.Command{}
	flags := addLabFlags(cmd)
	values := map[string]string{"name": "x", "engine": "mongod", "binary": "/opt/mongod", "hosts": "isolated", "election": "elect-fast", "redundancy": "parity",
		"device": "nvme", "backend": "btrfs", "members": "5", "shards": "2", "host-count": "4", "stripe": "3", "tolerate": "2", "memory": "2GiB",
		"size": "3GiB", "cache": "1GiB", "cores": "1.5", "checksum": "false", "arbiter": "true", "faults": "true", "ha": "true", "auth": "true", "tls": "true", "deadline": "90s"}
	for name, value := range values {
		if err := cmd.Flags().Set(name, value); err != nil {
			t.Error(err)
		}
	}
	got, err := flags.spec(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	off := false
	want := spec.Lab{Name: "x", Deadline: spec.Duration(90 * time.Second),
		Hosts: spec.Hosts{Mode: "isolated", Count: 4, Cores: 1.5, Memory: 2 << 30},
		Storage: spec.Storage{Size: 3 << 30, Backend: "btrfs", Stripe: 3, Tolerate: 2, Redundancy: "parity",
			Checksum: &off, Device: "nvme", Faults: true},
		Engine:       spec.Engine{Name: "mongod", Binary: "/opt/mongod", Cache: 1 << 30, Authentication: true, TLS: true},
		Topology:     spec.Topology{Members: 5, Shards: 2, Arbiter: true, Election: "elect-fast"},
		Availability: spec.Availability{Restart: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(values) != len(flags.settings) {
		t.Errorf("there are %d flags, %d were tested", len(flags.settings), len(values))
	}
}

func exampleLab() record.Lab {
	lag, bytes := 0.25, int64(4096)
	until := time.Date(2025, 3, 1, 12, 0, 30, 0, time.UTC)
	l := record.Lab{Name: "three", State: "up", Started: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), UsableAfter: 2_100_000_000,
		Engine: "documentdb", Version: "PostgreSQL 18.6", URI: "mongodb://198.18.0.5:27017/", URIs: map[string]string{"balanced": "mongodb://198.18.0.5:27018/"},
		Specification: spec.Lab{Name: "three", Topology: spec.Topology{Kind: spec.LabReplicaSet, Members: 2, Election: "elect-fast"}},
		Hosts: []record.LabHost{{Name: "host1", Role: "member", Mode: "isolated", Address: "198.18.0.2", State: "on",
			Cores: 1.5, Memory: 1 << 30, Members: []string{"rs0-1"}},
			{Name: "host2", Role: "member", Mode: "isolated", Address: "198.18.0.3", State: "on", CutFrom: []string{"*"}}},
		Members: []record.LabMember{{Name: "rs0-1", Host: "host1", Address: "198.18.0.2:27017", State: "running", Role: "primary", Set: "rs0"},
			{Name: "rs0-2", Host: "host2", Address: "198.18.0.3:27017", State: "running", Role: "secondary", Set: "rs0", LagSeconds: &lag, LagBytes: &bytes, Problem: "it has not answered for 5 s"}},
		Volumes: []record.LabVolume{{Name: "rs0-1", Health: "degraded", Detail: "one disk does not answer", Capacity: 4 << 30, Used: 100 << 20,
			Layout: record.LabLayout{Backend: "btrfs", Profile: "raid1", Filesystem: "btrfs"},
			Disks:  []record.LabDisk{{Name: "d1", State: "ok"}, {Name: "d2", State: "failed"}}},
			{Name: "rs0-2", Health: "healthy", Used: 90 << 20, Layout: record.LabLayout{Backend: "directory"}}},
		Faults: []record.LabFault{{ID: 3, Action: "cut", Target: "host2",
			Since: time.Date(2025, 3, 1, 12, 0, 20, 0, time.UTC), Until: &until}},
		Notes: []string{"gateways ignore write concerns: the address decides the durability level"}}
	l.Specification.Engine.Authentication = true
	return l
}

// What `lab up`, `lab status` and `lab list` print, as a whole.
func TestLabText(t *testing.T) {
	var b bytes.Buffer
	l := exampleLab()
	v := &report.LabView{Lab: l, New: true, Secret: true,
		Usage:  []record.LabUsage{{Host: "host1", Memory: 200 << 20}, {Host: "host2", Memory: 56 << 20}},
		Levels: map[string]string{"balanced": topology.LevelMeaning("balanced", 2)}}
	dead := record.Lab{Name: "old", State: "up", Engine: "mongod", Problem: "its supervisor has ended"}
	all := &report.Labs{Labs: []*report.LabView{v, {Lab: dead, Dead: true}}, Now: l.Started.Add(90 * time.Minute),
		Notes: []string{"three was left"}}
	planned := lab.Planned{Spec: l.Specification,
		Storage: record.LabLayout{Backend: "md", Profile: "RAID 5, 64 KiB chunks", Disks: 3, DiskSize: 1 << 30,
			Tolerates: 1, WriteAmplification: 1.5, RawShare: 0.67, Notes: []string{"a power cut can damage a stripe"}},
		Layout: topology.Layout{Hosts: []topology.HostPlan{{Name: "host1", Role: "member"}}, Members: []topology.MemberPlan{
			{Name: "rs0-1", Kind: "mongod", Set: "rs0", Host: "host1", Role: "primary", Volume: true}}}}
	plan := &report.LabView{Lab: plannedLab(planned), Command: "plimsoll lab up lab.yaml"}
	for _, result := range []any{v, all, plan} {
		if err := printResult(&b, result, "text"); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n----\n")
	}
	var asJSON bytes.Buffer
	if err := printResult(&asJSON, all, "json"); err != nil || strings.Count(asJSON.String(), `"alive": true`) != 1 ||
		!strings.HasPrefix(asJSON.String(), "[\n  {\n    \"schema_version\"") {
		t.Errorf("as JSON: %v\n%s", err, asJSON.String())
	}
	goldenText(t, "lab", func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
}

func TestLastLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{"a\nb\nc\n": "b\nc\n", "a\nb\nc": "b\nc", "c\n": "c\n", "": ""} {
		write(t, name, text)
		var b bytes.Buffer
		if end, err := lastLines(&b, name, 2); err != nil || b.String() != want || end != int64(len(text)) {
			t.Errorf("the last lines of %q are %q up to %d (%v), want %q", text, b.String(), end, err, want)
		}
	}
}
