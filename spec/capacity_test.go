package spec

import (
	"strings"
	"testing"
)

func capacityOf(t *testing.T, text string) (Capacity, error) {
	t.Helper()
	c, err := ReadCapacity(strings.NewReader(text))
	if err == nil {
		err = c.Complete()
	}
	return c, err
}

func TestCapacityDefaults(t *testing.T) {
	for text, want := range map[string]struct{ lines, objectives, within string }{
		"{}": {"all members up", "p99<20ms,errors<0.1%", "5m"},
		"{run: {target: 'lab:x', objectives: [p95<5ms]}}":    {"all members up|kill:secondary|initial-sync:secondary", "p95<5ms", "15m"},
		"{run: {target: 'lab:x'}, while: [none]}":            {"all members up", "p99<20ms,errors<0.1%", "5m"},
		"{run: {target: 'lab:x'}, while: [rolling-restart]}": {"all members up|rolling-restart", "p99<20ms,errors<0.1%", "15m"},
	} {
		c, err := capacityOf(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		lines, objectives := strings.Join(c.Lines(), "|"), strings.Join(c.Objectives, ",")
		if lines != want.lines || objectives != want.objectives || c.Within.String() != want.within {
			t.Errorf("%s: %s, %s, %v", text, lines, objectives, c.Within)
		}
	}
}

func TestCapacityIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{run: {load: {rate: 5}}}":                                    "the search sets the rate",
		"{run: {load_phase: {only: true}}}":                           "a capacity needs a load",
		"{objectives: [p99=4ms]}":                                     "never equal",
		"{while: [kill:secondary]}":                                   "--yes-break-it",
		"{run: {target: 'lab:x'}, while: [cut:primary, cut:primary]}": "given twice",
		"{run: {target: 'lab:x'}, must: [kill:primary]}":              `there is no line "kill:primary"`,
		"{search: {from: 10, to: 5}}":                                 "is below from",
	} {
		if _, err := capacityOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := capacityOf(t, "{while: [kill:secondary], yes_break_it: true}"); err != nil {
		t.Error(err)
	}
}
