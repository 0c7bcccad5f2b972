package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/finite"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func disclosure(s *runFiles) Section {
	r := s.Run
	var parts []Section
	if r.Lab != nil {
		parts = append(parts, labAgain(s))
	}
	return s.disclosure(append(parts,
		reproduceBlock("With this specification and the same data, the same operations are sent in the same order:", "plimsoll run --file -", s.again, record.RunFile),
		commandBlock("Exact command", s.command),
		Section{Title: "Settings that differ from their defaults", Table: changedSettings(r.Specification)},
		Section{Title: "Target", Facts: targetFacts(r)},
		Section{Title: "Effective settings of client and server", Table: effectiveSettings(r)},
		Section{Title: "Environment of the load", Facts: environmentFacts(r.Environment)},
		Section{Title: "Record", Facts: recordFacts(s)})...)
}

func visibleLines(s string) string {
	var list []string
	for line := range strings.Lines(s) {
		list = append(list, bounded(strings.TrimRight(line, "\n")))
	}
	return strings.Join(list, "\n")
}

// defaultSpec returns a specification with defaults only.
func defaultSpec() spec.Run {
	var asked spec.Run
	asked.Workload.Mode = "core"
	asked.Defaults()
	return asked
}

// changedSettings compares a specification with what it would be if nothing had been said.
func changedSettings(asked spec.Run) *Table {
	was, is := flat(defaultSpec()), flat(asked)
	delete(is, "out")
	t := &Table{Caption: "Settings that differ from their defaults", Quiet: true, Left: 3, Header: []string{"setting", "value", "default"}}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if is[key] == was[key] {
			continue
		}
		before, ok := was[key]
		if !ok {
			before = "not set"
		}
		t.Rows = append(t.Rows, []string{key, is[key], before})
	}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[key]; !ok {
			t.Rows = append(t.Rows, []string{key, "not set", was[key]})
		}
	}
	if len(t.Rows) == 0 {
		t.Rows = append(t.Rows, []string{"none", "", ""})
	}
	return t
}

// flat lists the values of anything that has a JSON form by their paths.
func flat(v any) map[string]string {
	b, err := finite.Marshal(v)
	if err != nil {
		return nil
	}
	var tree any
	if json.Unmarshal(b, &tree) != nil {
		return nil
	}
	out := map[string]string{}
	flatten(out, "", tree)
	return out
}

func flatten(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			flatten(out, strings.TrimPrefix(path+"."+key, "."), x)
		}
	case []any:
		for i, x := range v {
			flatten(out, fmt.Sprintf("%s[%d]", path, i), x)
		}
	case string:
		out[path] = v
	case float64:
		out[path] = strings.TrimSuffix(fmt.Sprintf("%.10g", v), ".0")
	default:
		out[path] = fmt.Sprint(v)
	}
}

func targetFacts(r *record.Run) []Fact {
	t := r.Target
	list := Facts("Address", t.Address, "Software", strings.TrimSpace(t.Kind+" "+t.Version), "Topology", t.Topology, "Replica set", t.SetName,
		"Hosts", strings.Join(t.Hosts, ", "))
	for _, n := range t.Notes {
		list = append(list, Fact{Name: "Note", Value: n})
	}
	return list
}

func effectiveSettings(r *record.Run) *Table {
	t := &Table{Caption: "Effective settings of client and server", Quiet: true, Left: 3, Header: []string{"side", "setting", "value"}}
	for _, side := range []struct {
		name   string
		values map[string]string
	}{{"client", r.ClientSettings}, {"server", r.Target.Settings}} {
		for _, key := range slices.Sorted(maps.Keys(side.values)) {
			t.Rows = append(t.Rows, []string{side.name, key, side.values[key]})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func environmentFacts(e record.Environment) []Fact {
	limit := ""
	if e.MemoryLimit > 0 && e.MemoryLimit != e.MemoryBytes {
		limit = figure.Bytes(int64(e.MemoryLimit))
	}
	load := ""
	if e.Load1 != nil {
		load = figure.Significant(*e.Load1)
	}
	list := Facts("Host", e.Host, "System", strings.TrimSpace(e.Distro+", "+e.OS+" "+e.Kernel+" "+e.Arch), "Processor", e.CPU,
		"Processor threads", fmt.Sprint(e.Threads), "Cores that may be used", figure.Significant(e.Cores), "Memory", figure.Bytes(int64(e.MemoryBytes)),
		"Memory limit", limit, "Frequency governor", e.Governor, "Transparent huge pages", e.HugePages, "Clock source", e.Clock,
		"Virtualisation", e.Virtual, "Load average at the start", load, "Go", fmt.Sprintf("%s, GOMAXPROCS %d", e.Go, e.MaxProc))
	for _, f := range e.Filesystems {
		list = append(list, Fact{Name: "File system of the " + f.Use,
			Value: strings.Trim(strings.Join([]string{f.Type, f.Device, f.Options,
				figure.Bytes(int64(f.Free)) + " of " + figure.Bytes(int64(f.Bytes)) + " free"}, ", "), ", ")})
	}
	return list
}

func recordFacts(s *runFiles) []Fact {
	r := s.Run
	ended := ""
	if r.Ended != nil {
		ended = r.Ended.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	list := Facts("Directory", bounded(s.Dir), "Status", string(r.Status), "Started", r.Started.UTC().Format("2006-01-02 15:04:05")+" UTC", "Ended", ended,
		"Ended by", r.Course.EndedBy, "Written by", Version(r.Tool), "Schema", r.SchemaVersion, "Seed", fmt.Sprint(r.Specification.Workload.Seed))
	for _, key := range slices.Sorted(maps.Keys(r.Specification.Labels)) {
		list = append(list, Fact{Name: "Label " + key, Value: r.Specification.Labels[key]})
	}
	return list
}
