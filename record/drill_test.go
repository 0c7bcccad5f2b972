package record

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func drillSpec(t *testing.T, text string) spec.Drill {
	t.Helper()
	s, err := spec.ReadDrill(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s.Defaults()
	return s
}

func TestDrillDefaults(t *testing.T) {
	s := drillSpec(t, "run: {target: 'lab:three', load: {duration: 40s}}\nfaults: [{fault: 'kill:primary'}]")
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if !s.Run.Load.Open() || s.Run.Workload.Name != spec.WorkloadLedger || s.Repeat != 1 ||
		s.Faults[0].At != spec.Duration(10*time.Second) {
		t.Errorf("the defaults are %+v", s)
	}
}

func TestDrillMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"run: {target: 'lab:x'}":                                                                                                  "faults: there is none",
		"run: {target: 'lab:x'}\nfaults: [{fault: ':primary'}]":                                                                   "ACTION:PLACE",
		"run: {target: 'lab:x'}\nexternal: true\nfaults: [{fault: 'kill:primary'}]":                                               "exclude each other",
		"run: {target: 'lab:x', load: {duration: 10s}}\nfaults: [{fault: 'kill:primary', at: 10s}]":                               "not within",
		"run: {target: 'lab:x', load: {duration: 10s}}\nfaults: [{fault: 'kill:primary', at: 5s, for: 6s}]":                       "reverted 1s after",
		"run: {target: 'lab:x'}\nfaults: [{fault: 'kill:primary', at: 5s, at_workers: 3}]":                                        "exclude each other",
		"run: {target: 'lab:x'}\nfaults: [{fault: 'kill:primary', for: 5s, stay: true}]":                                          "exclude each other",
		"run: {target: 'lab:x', load: {stages: [{duration: 9s, workers: 9}]}}\nfaults: [{fault: 'kill:primary', at_workers: 10}]": "never reach",
		"run: {target: 'lab:x'}\nfresh: true\nfaults: [{fault: 'kill:primary'}]":                                                  "fresh",
		"run: {target: 'lab:x'}\nfaults: [{fault: 'kill:primary'}]\nexpect: {loss: some}":                                         "loss",
		"run: {target: 'lab:x'}\nfaults: [{fault: 'kill:primary'}]\nexpect: {loss_window: 1s}":                                    "needs loss: window",
		"run: {target: 'lab:x', out: y}\nfaults: [{fault: 'kill:primary'}]":                                                       "run.out",
	} {
		s := drillSpec(t, text)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v, want %q", text, err, want)
		}
	}
	if _, err := spec.ReadDrill(strings.NewReader("fault: [x]")); err == nil || !strings.Contains(err.Error(), "faults") {
		t.Errorf("an unknown key gives %v", err)
	}
}

// A ramp from 0 to 50 in 5 minutes has 15 users after 90 seconds.
func TestMomentAtWorkers(t *testing.T) {
	s := drillSpec(t, "run: {target: 'lab:x', load: {pace: 26, stages: [{duration: 5m, workers: 50}, {duration: 1m, workers: 50}]}}\nfaults: [{fault: 'kill:primary', at_workers: 15}]")
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if at, ok := s.Moment(s.Faults[0]); !ok || at != 90*time.Second {
		t.Errorf("15 users after %v", at)
	}
}

func TestDrillFiles(t *testing.T) {
	dir := t.TempDir() + "/d"
	spec := drillSpec(t, "run: {target: 'mongodb://u:secret-word@h/'}\nexternal: true")
	release, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := CreateDrill(dir, spec)
	if err != nil {
		t.Fatal(err)
	}
	d := Drill{Head: Head{SchemaVersion: SchemaVersion, Kind: KindDrill, Status: Running}, Specification: spec,
		Verdict: Unknown,
		Reasons: []string{"cannot reach secret-word"}, Rounds: []DrillRound{{Number: 1, Verdict: Unknown}}}
	if err := w.Write(&d); err != nil {
		t.Fatal(err)
	}
	got, err := OpenDrill(dir)
	if err != nil || got.Status != Running {
		t.Fatalf("read while it is written: %v %v", got, err)
	}
	release()
	got, err = OpenDrill(dir)
	if err != nil || got.Status != Killed || got.Verdict != Unknown || !strings.Contains(got.Reasons[0], "killed") {
		t.Errorf("after a kill: %+v %v", got, err)
	}
	if strings.Contains(got.Specification.Run.Target+strings.Join(got.Reasons, " "), "secret-word") {
		t.Errorf("the record has the password: %+v", got)
	}
	if _, err := CreateDrill(dir, spec); err == nil || !strings.Contains(err.Error(), "already holds") {
		t.Errorf("a second drill in the directory: %v", err)
	}
}

// Rounds in which connections broke are not put together with those in which they hung, nor with those in which nothing
// was broken; a loss is known only where everything was read back.
func TestDrillByMode(t *testing.T) {
	round := func(outage, lost int64, faults ...string) DrillRound {
		r := DrillRound{Status: Complete, Effects: []DrillEffect{{Client: 0, Outage: 1},
			{Client: -1, Outage: outage, OutageFrom: 5}},
			Ledger: &LedgerResult{Acknowledged: 100, Inserts: map[string]int64{WriteLost: lost},
				Updates: map[string]int64{WriteLost: 1}, Reads: []LedgerRead{{Source: FinalSource}}}}
		for _, m := range faults {
			r.Faults = append(r.Faults, DrillFault{Mode: m, Injected: 1})
		}
		return r
	}
	unread := round(7, 5, "crash")
	unread.Ledger.Inserts[WriteNeverRead] = 1
	d := &Drill{Rounds: []DrillRound{round(4, 0, "crash"), round(9, 2, "black-hole"), round(2, 3, "crash"),
		round(-1, 0, "black-hole", "crash"), unread, round(1, 0), {Status: Running}}}
	want := []DrillMode{
		{Mode: "crash", Rounds: 3, Lossy: 2, Outages: &Spread{Unit: "ns", Values: []float64{4, 2, 7}, Median: 4, Max: 7},
			Losses: &Spread{Unit: "writes", Values: []float64{1, 4}, Median: 2.5, Max: 4}},
		{Mode: "black-hole", Rounds: 1, Lossy: 1, Outages: &Spread{Unit: "ns", Values: []float64{9}, Median: 9, Max: 9},
			Losses: &Spread{Unit: "writes", Values: []float64{3}, Median: 3, Max: 3}},
		{Mode: "crash+black-hole", Rounds: 1, Unended: 1, Lossy: 1, Losses: &Spread{Unit: "writes", Values: []float64{1}, Median: 1, Max: 1}},
	}
	if diff := cmp.Diff(want, d.ByMode()); diff != "" {
		t.Error(diff)
	}
	silent := round(3, 0, "crash")
	silent.Ledger.Acknowledged, silent.Ledger.Updates = 0, nil
	if got := (&Drill{Rounds: []DrillRound{silent}}).ByMode(); got[0].Losses != nil {
		t.Errorf("a round in which nothing was acknowledged lost %+v", got[0].Losses)
	}
	missed := round(3, 0, "crash")
	missed.Verdict, missed.Ledger.Updates = Unknown, nil
	if got := (&Drill{Rounds: []DrillRound{missed}}).ByMode(); got[0].Losses != nil {
		t.Errorf("lost %+v in a round without a fault", got[0].Losses)
	}
	missed.Ledger.Inserts[WriteLost] = 1
	if got := (&Drill{Rounds: []DrillRound{missed}}).ByMode(); got[0].Lossy != 1 {
		t.Error("losses count for every verdict")
	}
	nothing := &Drill{Rounds: []DrillRound{round(1, 0)}}
	if got := nothing.ByMode(); len(got) != 1 || got[0].Mode != "" {
		t.Errorf("a drill that broke nothing is %+v", got)
	}
}
