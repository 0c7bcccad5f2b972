package run

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The limits beyond which what a server did beside the load explains the result.
const (
	laggedTooOften    = 0.02 // share of the seconds in which flow control was on
	exhaustedTooOften = 0.05 // share of the seconds in which no ticket was free
	evictedTooMany    = 0.05 // share of the evicted pages that operations had to evict themselves
	evictedAtLeast    = 1    // of those pages per second
)

// serverFindings are what the servers did that explains a result, from the samples of the measured phase.
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
		if share := v["flow_control.lagged"]; share > laggedTooOften {
			add("flow-control", "%s limited writes by flow control in %s of the measured seconds, because a majority of the members lagged behind%s. Throughput and latency include this. Check disks and processors of the secondaries.",
				name, figure.Percent(share), throttled(v, share))
		}
		for _, kind := range []string{"read", "write"} {
			if share := v["tickets."+kind+".exhausted"]; share > exhaustedTooOften {
				add("tickets", "%s had no free %s ticket in %s of the measured seconds, so operations waited in its queue. Latency includes this wait. Use fewer workers, or find out what makes operations slow.",
					name, kind, figure.Percent(share))
			}
		}
		if by := v["cache.evicted_by_application"]; by >= evictedAtLeast && by > evictedTooMany*v["cache.evicted"] {
			add("cache-eviction", "on %s operations evicted %s pages per second from the cache themselves (%s of all evictions). They waited for room in the cache, and latency includes this. Use a larger cache, a smaller data set or faster storage.",
				name, figure.Rate(by), figure.Percent(min(1, by/max(by, v["cache.evicted"]))))
		}
	}
	return list
}

// throttled compares the writes of the seconds under flow control with those of the others.
func throttled(v map[string]float64, share float64) string {
	during, known := v["flow_control.writes"]
	all := v["opcounters.insert"] + v["opcounters.update"] + v["opcounters.delete"]
	if !known || share >= 1 {
		return ""
	}
	return fmt.Sprintf(" (%s writes/s then, %s otherwise)", figure.Rate(during), figure.Rate(max(0, all-share*during)/(1-share)))
}

// unlikeApplication says what an application with the same address does and the client wire does not. Compression is no
// part of it: the client wire refuses an address that asks for it.
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
			return []measure.Finding{{ID: "unlike-application", Severity: measure.Note, Text: "the address asks for retryable writes, " +
				"and the wire client sends writes without transaction numbers. A server does a little more for each write of an application. Use --client driver to include this."}}
		}
	}
	return nil
}
