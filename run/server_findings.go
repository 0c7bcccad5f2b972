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
	maxConflicts   = 0.05 // write conflicts per write
)

// machines names the busiest disk and the busiest processors of the servers' machines, as far as they are sampled.
func machines(series []record.Series) string {
	var disk, cpu, diskOf, cpuOf string
	var busy, used float64
	for _, s := range series {
		name, ok := strings.CutPrefix(s.Source, "host:")
		if !ok {
			continue
		}
		if d, ok := strings.CutPrefix(s.Name, "disk."); ok && strings.HasSuffix(d, ".utilisation") && s.Mean > busy {
			disk, diskOf, busy = strings.TrimSuffix(d, ".utilisation"), name, s.Mean
		}
		if s.Name == "cpu.busy" && s.Mean > used {
			cpu, cpuOf, used = figure.Percent(s.Mean), name, s.Mean
		}
	}
	var parts []string
	if disk != "" {
		parts = append(parts, fmt.Sprintf("the busiest disk was %s of %s (busy %s of the time)", disk, diskOf, figure.Percent(busy)))
	}
	if cpu != "" {
		parts = append(parts, fmt.Sprintf("the busiest processors were those of %s (%s)", cpuOf, cpu))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Of the sampled machines, " + strings.Join(parts, ", and ") + "."
}

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
	beside := machines(series)
	add := func(id string, format string, a ...any) {
		list = append(list, measure.Finding{ID: id, Severity: measure.Warning, Text: fmt.Sprintf(format, a...) + beside})
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
