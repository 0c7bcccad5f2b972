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

// Facts are what was asked for and where it ran, by paths of the specification and of the environment. Those of
// sides that are compared should be equal, but for what is compared.
type Facts map[string]string

// partial marks the facts of a configuration whose records were not read: those of the target are not known then.
const partial = "\x00partial"

// unknown says whether a side cannot know a fact.
func (f Facts) unknown(path string) bool {
	if _, ok := f[partial]; !ok {
		return false
	}
	first, _, _ := strings.Cut(path, ".")
	_, known := f[path]
	return !known && slices.Contains([]string{"target", "client_settings", "scheduled", "data", "lab"}, first) || path == partial
}

// absent stands for a fact that a side does not have.
const absent = "-"

// NewFacts takes the facts out of a run.
func NewFacts(r *record.Run) Facts {
	f := Facts{"scheduled": strconv.FormatBool(r.Scheduled)}
	f.put("", r.Specification)
	f.put("client_settings", r.ClientSettings)
	f.addTarget(r.Target)
	f.addEnvironment(r.Environment)
	f.addTool(r.Tool)
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

func (f Facts) addTool(t record.Tool) { f.put("tool", t) }

// addLab adds what a lab is made of. How it is called, and where it lies, says nothing about it.
func (f Facts) addLab(l spec.Lab) {
	l.Name, l.Labels, l.Deadline = "", nil, 0
	f.put("lab", l)
}

func (f Facts) addTarget(t record.Target) {
	t.Notes = nil
	f.put("target", t)
}

// addEnvironment adds the machine. Memory is given with three digits: a few pages less after a reboot are nothing.
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

// drop removes what says nothing about the result. The seed of arrivals is chance, and differs from block to block.
func (f Facts) drop() {
	for path := range f {
		if path == "out" || strings.HasPrefix(path, "labels") || path == "name" || path == "environment.gomaxprocs" || path == "load.seed" || path == "target" {
			delete(f, path)
		}
	}
}

// put flattens what would be written as JSON: a.b.0.c.
func (f Facts) put(path string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // the types of records can all be written
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

// weight says how grave a difference is, and why.
type weight struct {
	severity measure.Severity
	why      string
}

// weights are for paths and everything below them; the longest path that fits counts.
var weights = map[string]weight{
	"":                            {measure.Warning, ""},
	"workload":                    {measure.Invalid, "other operations on other data"},
	"workload.seed":               {measure.Note, "other keys in the same proportions"},
	"workload.records":            {measure.Invalid, "more data fit less into the caches"},
	"data.records":                {measure.Invalid, "more data fit less into the caches"},
	"durability":                  {measure.Invalid, "writes that wait for less are faster and are lost more easily"},
	"client":                      {measure.Invalid, "the clients cost different amounts of processor time"},
	"client_settings":             {measure.Warning, "clients that are set up differently behave differently"},
	"client_settings.client":      {measure.Invalid, "the clients cost different amounts of processor time"},
	"scheduled":                   {measure.Invalid, "an open and a closed loop measure different times"},
	"load":                        {measure.Warning, "another load has other response times"},
	"load.workers":                {measure.Note, "more workers, more throughput and longer response times"},
	"load_phase":                  {measure.Note, "it says how the data were loaded"},
	"capacity":                    {measure.Note, "what the capacity search of the study found"},
	"objectives":                  {measure.Note, "objectives change no result"},
	"database":                    {measure.Note, "a name"},
	"target":                      {measure.Warning, "another deployment"},
	"target.address":              {measure.Note, "another deployment, perhaps a like one"},
	"target.hosts":                {measure.Note, "other members, perhaps like ones"},
	"target.set_name":             {measure.Note, "a name"},
	"target.version":              {measure.Warning, "another version of the server"},
	"target.settings.directory":   {measure.Note, "a name"},
	"target.settings":             {measure.Warning, "the server is set up differently"},
	"environment":                 {measure.Warning, "another machine, or one that is set up differently"},
	"environment.cpu":             {measure.Invalid, "another processor"},
	"environment.arch":            {measure.Invalid, "another processor"},
	"environment.os":              {measure.Invalid, "another operating system"},
	"environment.cores_available": {measure.Invalid, "another number of cores"},
	"environment.cpu_threads":     {measure.Warning, "another number of cores in the machine"},
	"environment.host":            {measure.Note, "another machine, perhaps a like one"},
	"environment.go":              {measure.Note, "built with another compiler"},
	"lab":                         {measure.Warning, "another lab"},
	"lab.hosts":                   {measure.Invalid, "hosts with other limits"},
	"lab.hosts.count":             {measure.Warning, "members share hosts, or do not"},
	"lab.storage":                 {measure.Invalid, "another storage policy"},
	"lab.storage.dir":             {measure.Warning, "perhaps another disk"},
	"lab.engine":                  {measure.Invalid, "another server, or one that is set up differently"},
	"lab.version":                 {measure.Warning, "another version of the server"},
	"lab.topology":                {measure.Invalid, "another cluster"},
	"lab.topology.election":       {measure.Warning, "faster elections beat more often"},
	"lab.availability":            {measure.Note, "it says what happens when something fails"},
	"tool":                        {measure.Warning, "another version of plimsoll may measure differently"},
	"tool.go":                     {measure.Note, "built with another compiler"},
}

// weigh finds the weight of a path.
func weigh(path string) weight {
	for p := path; ; {
		if w, ok := weights[p]; ok {
			return w
		}
		i := strings.LastIndexByte(p, '.')
		if i < 0 {
			return weights[""]
		}
		p = p[:i]
	}
}

// differences lists the facts in which the sides differ, the gravest first. What is below one of the varied paths
// differs on purpose.
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
		if slices.ContainsFunc(varied, func(v string) bool { return path == v || strings.HasPrefix(path, v+".") }) {
			w = weight{measure.Note, "this is what was varied"}
		} else if strings.HasPrefix(path, "target.") && slices.ContainsFunc(varied, func(v string) bool {
			return v == "lab" || strings.HasPrefix(v, "lab.")
		}) {
			w = weight{measure.Note, "it follows from the lab, which was varied"}
		}
		list = append(list, record.Difference{What: path, Values: values, Severity: w.severity, Why: w.why})
	}
	slices.SortStableFunc(list, func(a, b record.Difference) int { return rank(b.Severity) - rank(a.Severity) })
	return list
}

func rank(s measure.Severity) int {
	return slices.Index([]measure.Severity{measure.Note, measure.Warning, measure.Invalid}, s)
}
