package run

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Limits of the findings about servers.
const (
	maxFlowControl = 0.02 // share of the seconds with active flow control
	maxExhausted   = 0.05 // share of the seconds without a free ticket
	maxEvicted     = 0.05 // share of the evicted pages that operations evicted
	minEvicted     = 1    // of those pages per second
)

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
	add := func(id string, format string, a ...any) {
		list = append(list, measure.Finding{ID: id, Severity: measure.Warning, Text: fmt.Sprintf(format, a...)})
	}
	for _, name := range order {
		v := bySource[name]
		if share := v["flow_control.lagged"]; share > maxFlowControl {
			add("flow-control", "%s limited writes by flow control in %s of the measured seconds, because a majority of the members "+
				"lagged%s. Throughput and latency include this. Check disks and processors of the secondaries.", name, figure.Percent(share), throttled(v, share))
		}
		for _, kind := range []string{"read", "write"} {
			if share := v["tickets."+kind+".exhausted"]; share > maxExhausted {
				add("tickets", "%s had no free %s ticket in %s of the measured seconds, so operations waited in its queue. Latency "+
					"includes this wait. Use fewer workers, or find out what makes operations slow.", name, kind, figure.Percent(share))
			}
		}
		if by := v["cache.evicted_by_application"]; by >= minEvicted && by > maxEvicted*v["cache.evicted"] {
			add("cache-eviction", "on %s operations evicted %s pages per second from the cache themselves (%s of all evictions). They "+
				"waited for room in the cache, and latency includes this. Use a larger cache, a smaller data set or faster storage.", name, figure.Rate(by), figure.Percent(min(1, by/max(by, v["cache.evicted"]))))
		}
	}
	return list
}

// throttled compares the rate of writes in the seconds with flow control with that of the others.
func throttled(v map[string]float64, share float64) string {
	during, known := v["flow_control.writes"]
	all := v["opcounters.insert"] + v["opcounters.update"] + v["opcounters.delete"]
	if !known || share >= 1 {
		return ""
	}
	return fmt.Sprintf(" (%s writes/s then, %s otherwise)", figure.Rate(during), figure.Rate(max(0, all-share*during)/(1-share)))
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
