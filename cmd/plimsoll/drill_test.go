package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The shipped drills are drills, their labs can be planned, and they fit the schema.
func TestShippedDrills(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/drill/*.yaml")
	if err != nil || len(files) < 18 {
		t.Fatalf("only %v (%v)", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := spec.ReadDrill(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if asked.Lab == nil {
			t.Errorf("%s has no lab", file)
			continue
		}
		for _, engine := range []string{spec.LabMongod, spec.LabDocumentDB} {
			if asked.Lab.Engine.Name != "" && asked.Lab.Engine.Name != engine {
				continue
			}
			of, lab := asked, *asked.Lab
			lab.Engine.Name = engine
			of.Lab = &lab
			if err := errors.Join(of.Complete(), drill.Check(of)); err != nil {
				t.Errorf("%s on %s: %v", file, engine, err)
			}
			if _, err := topology.Plan(*of.Lab); err != nil && spec.EngineLacks(engine, spec.CapSharding) == "" {
				t.Errorf("%s on %s: %v", file, engine, err)
			}
			if err := run.CheckLab(*of.Lab, of.Run); err != nil {
				t.Errorf("%s on %s: %v", file, engine, err)
			}
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); asked.Name != want {
			t.Errorf("%s makes a drill called %s", file, asked.Name)
		}
		fitsSchema(t, file, text, schema.DrillSpec)
	}
}

// The exit code of a drill is that of the worst that happened.
func TestExitCodesOfDrills(t *testing.T) {
	lost := record.DrillRound{Verdict: record.Violated, Expect: spec.Expect{Loss: spec.LossNone},
		Ledger: &record.LedgerResult{Inserts: map[string]int64{record.WriteLost: 1}}}
	late := lost // and violated for another reason: what is lost is within the window
	late.Expect, late.Ledger = spec.Expect{Loss: spec.LossWindow, LossWindow: spec.Duration(2e9)},
		&record.LedgerResult{Inserts: lost.Ledger.Inserts, LossWindow: 1e9}
	for _, c := range []struct {
		d    record.Drill
		want int
	}{
		{record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Violated,
			Rounds: []record.DrillRound{late}}, exitObjective},
		{record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Holds}, exitSuccess},
		{record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Unknown}, exitInvalid},
		{record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Violated,
			Rounds: []record.DrillRound{lost}}, exitLost},
		{record.Drill{Head: record.Head{Status: record.Interrupted}, Verdict: record.Violated,
			Rounds: []record.DrillRound{lost}}, exitLost},
		{record.Drill{Head: record.Head{Status: record.Complete}, Verdict: record.Violated}, exitObjective},
		{record.Drill{Head: record.Head{Status: record.Interrupted}, Verdict: record.Unknown}, exitInterrupted},
		{record.Drill{Head: record.Head{Status: record.Killed}, Verdict: record.Unknown}, exitInterrupted},
		{record.Drill{Head: record.Head{Status: record.Failed}, Verdict: record.Unknown}, exitFailure},
	} {
		if got := exitCode(ending(c.d.Conclude())); got != c.want {
			t.Errorf("%s %s ends with %d, want %d", c.d.Status, c.d.Verdict, got, c.want)
		}
	}
}
