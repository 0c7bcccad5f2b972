package run

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// maxConflicts is how many write conflicts per write are not worth a note. Other places where operations waited are in
// the anatomy of the run.
const maxConflicts = 0.05

// serverFindings judges the servers by their samples in the measured phase.
func serverFindings(series []record.Series) []measure.Finding {
	bySource := map[string]map[string]float64{}
	var order []string
	for _, s := range series {
		name, ok := strings.CutPrefix(s.Source, "server:")
		if !ok {
			continue
		}
		if bySource[name] == nil {
			bySource[name] = map[string]float64{}
			order = append(order, name)
		}
		bySource[name][s.Name] = s.Mean
	}
	var list []measure.Finding
	for _, name := range order {
		v := bySource[name]
		if writes := v["opcounters.insert"] + v["opcounters.update"] + v["opcounters.delete"]; v["write_conflicts"] > maxConflicts*writes {
			list = append(list, measure.Finding{ID: "write-conflicts", Severity: measure.Note, Text: fmt.Sprintf("%s had %s write conflicts per second "+
				"at %s writes per second. The server repeats these writes, and latency includes this. The workload writes the same documents at "+
				"the same time; this belongs to the result if the application does this too.", name, figure.Rate(v["write_conflicts"]), figure.Rate(writes))})
		}
	}
	return list
}

// unlikeApplication notes what an application with the same address does and the client wire does not. The client wire
// refuses addresses that ask for compression.
func unlikeApplication(t Target, client string) []measure.Finding {
	if t.Kind != "mongodb" || client != ClientWire {
		return nil
	}
	_, query, _ := strings.Cut(t.URI, "?")
	options, err := url.ParseQuery(query)
	if err != nil {
		return nil
	}
	for name, values := range options {
		if strings.EqualFold(name, "retryWrites") && strings.EqualFold(values[0], "true") {
			return []measure.Finding{{ID: "unlike-application", Severity: measure.Note, Text: "the address enables retryable writes, " +
				"and the wire client sends writes without transaction numbers. A server does a little more for each write of an application. Use --client driver to include this."}}
		}
	}
	return nil
}
