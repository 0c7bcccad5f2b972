package run

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

func seriesOf(source string, values map[string]float64) []record.Series {
	var list []record.Series
	for name, mean := range values {
		list = append(list, record.Series{Source: source, Name: name, Mean: mean})
	}
	return list
}

// What a server did is said where it explains the result, with the server that did it, and not otherwise.
func TestServerFindings(t *testing.T) {
	quiet := map[string]float64{"flow_control.lagged": 0.01, "tickets.read.exhausted": 0.01, "tickets.write.exhausted": 0,
		"opcounters.insert": 900, "write_conflicts": 2}
	if got := serverFindings(seriesOf("server:a:1", quiet)); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := serverFindings(seriesOf("host:a", map[string]float64{"flow_control.lagged": 1})); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	for _, tc := range []struct {
		id     string
		values map[string]float64
		words  []string
	}{
		{"write-conflicts", map[string]float64{"opcounters.update": 1000, "write_conflicts": 60}, []string{"60", "1,000"}},
	} {
		got := serverFindings(append(seriesOf("server:a:1", tc.values), seriesOf("host:a", map[string]float64{"disk.sda.utilisation": 0.1,
			"disk.sdb.utilisation": 0.98, "cpu.busy": 0.3})...))
		if len(got) != 1 || got[0].ID != tc.id {
			t.Errorf("%v: %+v", tc.values, got)
			continue
		}
		for _, word := range tc.words {
			if !strings.Contains(got[0].Text, word) {
				t.Errorf("%s: %q lacks %q", tc.id, got[0].Text, word)
			}
		}
	}
}

// An address with retryable writes is that of an application whose commands look different.
func TestUnlikeApplication(t *testing.T) {
	for uri, want := range map[string]int{"mongodb://a/?retrywrites=true&w=1": 1, "mongodb://a/?retryWrites=false": 0, "mongodb://a/": 0} {
		if got := unlikeApplication(Target{Kind: "mongodb", URI: uri}, ClientWire); len(got) != want {
			t.Errorf("%s: %+v", uri, got)
		}
		if got := unlikeApplication(Target{Kind: "mongodb", URI: uri}, ClientDriver); len(got) != 0 {
			t.Errorf("%s with the driver: %+v", uri, got)
		}
	}
}
