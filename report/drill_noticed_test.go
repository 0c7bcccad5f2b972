package report

import (
	"slices"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestEventsInReports(t *testing.T) {
	s := drillNoticed(&record.DrillRound{Faults: []record.DrillFault{
		{Fault: spec.ParseAction("chunk-migration:workload"), Target: "a.b", Injected: 1e9, Done: 3e9,
			Event: &record.DrillEvent{Outcome: record.EventCompleted, Figures: []record.EventFigure{{Name: "chunks moved", Value: 1},
				{Name: "bytes moved", Value: 2 << 20, Unit: "B"}}},
			Noticed: &record.DrillNoticed{P99Before: 1e6, P99During: 4e6, Outage: 5e6, Failed: 2}},
		{Fault: spec.ParseAction("kill:primary"), Target: "rs0-1", Injected: 1e9, Healed: 2e9,
			Noticed: &record.DrillNoticed{P99Before: 1e6, P99During: record.NoAnswer, Outage: -1}},
		{Fault: spec.ParseAction("kill:rs0-9"), Problem: "there is none"},
	}})
	want := [][]string{
		{"chunk-migration:workload on a.b", "2.00 s", "1.00 ms", "4.00 ms", "–", "5.00 ms", "2",
			"completed, chunks moved: 1, bytes moved: 2.00 MiB"},
		{"kill:primary on rs0-1", "1.00 s", "1.00 ms", "no answer", "–", "did not end", "0", "reverted"},
	}
	if !slices.EqualFunc(s.Table.Rows, want, slices.Equal) {
		t.Errorf("%q", s.Table.Rows)
	}
}
