package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Facts are the specification and the environment of a run, by path. Sides of a comparison should have equal facts,
// except what is compared.
type Facts map[string]string

// partial marks the facts of a configuration whose records were not read, so those of the target are not known.
const partial = "\x00partial"

// unknown reports whether a side cannot know a fact.
func (f Facts) unknown(path string) bool {
	if _, ok := f[partial]; !ok {
		return false
	}
	first, _, _ := strings.Cut(path, ".")
	_, known := f[path]
	fromRecord := slices.Contains([]string{"target", "client_settings", "scheduled", "data", "lab"}, first)
	return !known && fromRecord || path == partial
}

// absent stands for a fact that a side does not have.
const absent = "-"

func newFacts(r *record.Run) Facts {
	f := Facts{"scheduled": strconv.FormatBool(r.Scheduled)}
	asked := r.Specification
	if asked.Durability.Name == "" { // a level has its own name
		at := asked.Durability.At(asked.Target)
		asked.Durability.W, asked.Durability.Journal = at.W, at.Journal
	}
	f.put("", asked)
	f.put("client_settings", r.ClientSettings)
	target := r.Target
	target.Notes, target.RoundTrip = nil, 0 // a measurement makes no other deployment
	target.Kind = r.Target.Software()
	f.put("target", target)
	f.addEnvironment(r.Environment)
	f.put("tool", r.Tool)
	if r.Lab != nil {
		f.addLab(r.Lab.Specification)
		f.put("lab.version", r.Lab.Version)
	}
	if r.Fill != nil {
		f["data.records"] = figure.Count(r.Fill.Records)
	}
	f.drop()
	return f
}

// addLab adds what a lab consists of, without its name and labels.
func (f Facts) addLab(l spec.Lab) {
	l.Name, l.Labels, l.Deadline = "", nil, 0
	f.put("lab", l)
}

// addEnvironment adds the machine. Memory has three digits, because a reboot may change it by a few pages.
func (f Facts) addEnvironment(e record.Environment) {
	memory, limit := e.MemoryBytes, e.MemoryLimit
	e.MemoryBytes, e.MemoryLimit, e.Load1, e.SwapBytes = 0, 0, nil, 0
	systems := e.Filesystems
	e.Filesystems = nil
	f.put("environment", e)
	for name, bytes := range map[string]uint64{"memory": memory, "memory_limit": limit} {
		if bytes > 0 {
			f["environment."+name] = figure.Bytes(int64(bytes))
		}
	}
	for _, fs := range systems {
		if fs.Use != "record" {
			f["environment.filesystem."+fs.Use] = strings.TrimSpace(fs.Type + " " + fs.Options)
		}
	}
}

// drop removes what does not influence the result. The seed of arrivals differs from block to block.
func (f Facts) drop() {
	irrelevant := []string{"out", "name", "environment.gomaxprocs", "load.seed", "target"}
	maps.DeleteFunc(f, func(path, _ string) bool {
		return strings.HasPrefix(path, "labels") || slices.Contains(irrelevant, path)
	})
}

// put adds a value by the paths of its JSON, such as a.b.0.c.
func (f Facts) put(path string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // cannot happen with the types of records
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) == nil {
		f.flatten(path, tree)
	}
}

func (f Facts) flatten(path string, v any) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for key, x := range v {
			f.flatten(below(path, key), x)
		}
	case []any:
		for i, x := range v {
			f.flatten(below(path, strconv.Itoa(i)), x)
		}
	default:
		if s := fmt.Sprint(v); s != "" {
			f[path] = s
		}
	}
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// setAll applies the values of a configuration to the facts of its base.
func (f Facts) setAll(set map[string]any) {
	for path, v := range set {
		for have := range f {
			if have == path || strings.HasPrefix(have, path+".") {
				delete(f, have)
			}
		}
		f.flatten(path, v)
	}
}

// differences lists the facts in which the sides differ, most severe first. Paths at or below a varied one differ on
// purpose.
func differences(sides []Facts, varied []string) []record.Difference {
	paths := map[string]bool{}
	for _, f := range sides {
		for path := range f {
			paths[path] = true
		}
	}
	list := []record.Difference{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if slices.ContainsFunc(sides, func(f Facts) bool { return f.unknown(path) }) {
			continue
		}
		values := make([]string, len(sides))
		equal := true
		for i, f := range sides {
			v, ok := f[path]
			if !ok {
				v = absent
			}
			values[i] = v
			equal = equal && v == values[0]
		}
		if equal {
			continue
		}
		w := weigh(path)
		d := record.Difference{What: path, Values: values, Severity: w.severity(), Why: w.why}
		if slices.ContainsFunc(varied, func(v string) bool { return path == v || strings.HasPrefix(path, v+".") }) {
			d.Severity, d.Compared, d.Why = measure.Note, true, "this is what was varied"
		} else if strings.HasPrefix(path, "target.") && ofLabs(sides) {
			d.Severity, d.Why = measure.Note, "it follows from the lab, or from the durability"
		}
		list = append(list, d)
	}
	return worstFirst(list)
}

// ofLabs reports whether all sides are runs on labs, whose specification says what the target is.
func ofLabs(sides []Facts) bool {
	return !slices.ContainsFunc(sides, func(f Facts) bool { return !f.has("lab") })
}

// has reports whether a path or a path below it is known.
func (f Facts) has(path string) bool {
	for p := range f {
		if p == path || strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}

func worstFirst(list []record.Difference) []record.Difference {
	slices.SortStableFunc(list, func(a, b record.Difference) int { return rank(b.Severity) - rank(a.Severity) })
	return list
}

func rank(s measure.Severity) int {
	return slices.Index([]measure.Severity{measure.Note, measure.Warning, measure.Invalid}, s)
}
