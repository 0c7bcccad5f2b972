package run

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run/observe"
)

// A process that the kernel killed makes the run invalid, with the name of its server. Other problems of a lab do not.
func TestAKilledProcessIsAFinding(t *testing.T) {
	l := &labTarget{name: "study", before: &record.Lab{Members: []record.LabMember{{Name: "rs0-1", Kind: "postgres", Host: "host1"},
		{Name: "rs0-2", Kind: "postgres", Host: "host2"}}}}
	l.saw(observe.Event{Kind: "problem", Text: "a volume is slow", Data: map[string]string{"host": "host1"}})
	if list := l.findings(2); len(list) > 0 && list[0].ID == "out-of-memory" {
		t.Errorf("%+v", list)
	}
	l.saw(observe.Event{Kind: "problem", Text: "on host1, the kernel killed a process: out of memory (host limit 512 MiB)",
		Data: map[string]string{"host": "host1", "cause": record.CauseOutOfMemory}})
	for _, f := range l.findings(2) {
		if f.ID == "out-of-memory" && f.Severity == measure.Invalid && strings.Contains(f.Text, "(of rs0-1, postgres)") {
			return
		}
	}
	t.Errorf("%+v", l.findings(2))
}
