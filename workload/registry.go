package workload

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// Spec specifies a workload.
type Spec struct {
	Name string // one of [Names]
	// Text is the text of a workload file, which package own opens in place of a built-in workload.
	Text string
	// Mode is "", "core" or "ycsb". "ycsb" changes a to ycsb-a and core to ycsb, "core" the other way round.
	Mode string
	// Records is the size of the data set, Operations the expected length of the run. 0: by Params and defaults.
	Records, Operations int64
	Seed                uint64
	// Run is the number of the run ([RunNumber], at most 2^40), so that its inserted documents differ from those of
	// earlier runs. The ycsb workloads do not use it.
	Run             uint64
	Client, Clients int               // number of this process in [0, Clients); Clients may be 0 for one
	Params          map[string]string // see [ParamsOf]
	Open            OpenFunc          // opens files that parameters name; nil without files
}

// RunNumber is the number of a run that begins at t: milliseconds since the year 2020.
func RunNumber(t time.Time) uint64 {
	return uint64(max(0, t.Sub(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)).Milliseconds()))
}

// kind is one entry of the registry.
type kind struct {
	name, help string
	stock      string // stock workload with the defaults
	open       func(k *kind, spec *Spec) (Workload, error)
	params     func(k *kind) []Param
}

// ownParams are the parameters of a workload that is not YCSB's.
type ownParams interface {
	settings() []setting
	from(spec *Spec) error
	open() (Workload, error)
}

func own(name, help string, fresh func() ownParams) kind {
	return kind{name: name, help: help,
		open: func(k *kind, spec *Spec) (Workload, error) {
			p := fresh()
			if err := applyAll(p.settings(), k.given(spec)); err != nil {
				return nil, err
			}
			if err := p.from(spec); err != nil {
				return nil, err
			}
			return p.open()
		},
		params: func(*kind) []Param { return describe(fresh().settings()) },
	}
}

// registry returns all workloads in the order of their list.
func registry() []kind {
	var kinds []kind
	stock := []struct{ letter, help string }{
		{"a", "half reads, half updates, zipfian"},
		{"b", "95 % reads, 5 % updates, zipfian"},
		{"c", "reads only, zipfian"},
		{"d", "95 % reads of the latest records, 5 % inserts"},
		{"e", "95 % short scans, 5 % inserts, zipfian"},
		{"f", "half reads, half read-modify-writes, zipfian"},
	}
	for _, s := range stock {
		kinds = append(kinds, kind{s.letter, s.help, s.letter, openCore, coreParamList})
	}
	kinds = append(kinds,
		kind{"core", "the YCSB core operations with proportions of your own", "", openCore, coreParamList},
		own("person", "a REST store of people: inserts and paged lists with a count", func() ownParams { return &personParams{} }),
		own("location", "nested documents inserted in bulk and found by a secondary index", func() ownParams { return &locationParams{} }),
		own("catalog", "products with arrays and sub-documents: secondary indexes, updates, aggregation", func() ownParams { return &catalogParams{} }),
	)
	for _, s := range stock {
		kinds = append(kinds, kind{"ycsb-" + s.letter, s.help + ", exactly as YCSB does it", s.letter, openYCSB, ycsbParamList})
	}
	return append(kinds, kind{"ycsb", "the YCSB core workload with properties of your own, exactly as YCSB does it", "", openYCSB, ycsbParamList})
}

// Names lists the workloads with one line on each (in Help).
func Names() []Param {
	var out []Param
	for _, k := range registry() {
		out = append(out, Param{Name: k.name, Help: k.help})
	}
	return out
}

// ParamsOf describes the parameters of a workload with their defaults.
func ParamsOf(name string) ([]Param, error) {
	k, err := find(&Spec{Name: name})
	if err != nil {
		return nil, err
	}
	return k.params(k), nil
}

// Open makes a workload. Unknown names and parameters are errors that name the nearest right one.
func Open(spec Spec) (Workload, error) {
	k, err := find(&spec)
	if err != nil {
		return nil, err
	}
	if spec.Records < 0 || spec.Operations < 0 {
		return nil, fmt.Errorf("workload %s: records (%d) and operations (%d) must not be negative", k.name, spec.Records, spec.Operations)
	}
	w, err := k.open(k, &spec)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", k.name, err)
	}
	return w, nil
}

// find returns the registry's entry for the name and mode of spec.
func find(spec *Spec) (*kind, error) {
	name := strings.ToLower(spec.Name)
	if _, ok := Stock(name); ok {
		name = strings.TrimPrefix(name, "workload")
	}
	kinds := registry()
	switch spec.Mode {
	case "":
	case "core":
		if name == "ycsb" {
			name = "core"
		}
		name = strings.TrimPrefix(name, "ycsb-")
	case "ycsb":
		if _, ok := Stock(name); ok {
			name = "ycsb-" + name
		}
		if name == "core" {
			name = "ycsb"
		}
	default:
		return nil, unknownValue("workload mode", spec.Mode, "core", "ycsb")
	}
	names := make([]string, len(kinds))
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i], nil
		}
		names[i] = kinds[i].name
	}
	return nil, fmt.Errorf("unknown workload %q%s (known: %s)", spec.Name, nearest.DidYouMean(name, names), strings.Join(names, ", "))
}

// given returns the parameters of spec, and those of the stock workload without some.
func (k *kind) given(spec *Spec, without ...string) map[string]string {
	props := map[string]string{}
	if stock, ok := Stock(k.stock); ok {
		props = stock
	}
	for _, name := range without {
		delete(props, name)
	}
	maps.Copy(props, spec.Params)
	if spec.Records > 0 {
		props["recordcount"] = strconv.FormatInt(spec.Records, 10)
	}
	return props
}

// coreGiven is given for the corrected core, which has no class and no operation count, and another number of records.
func (k *kind) coreGiven(spec *Spec) map[string]string {
	return k.given(spec, "workload", "operationcount", "recordcount")
}

func openCore(k *kind, spec *Spec) (Workload, error) {
	p, err := parseCore(k.coreGiven(spec), spec.Open)
	if err != nil {
		return nil, err
	}
	p.Name, p.Seed, p.Run = k.name, spec.Seed, spec.Run
	p.Client, p.Clients = spec.Client, max(spec.Clients, 1)
	return NewCore(p)
}

func openYCSB(k *kind, spec *Spec) (Workload, error) {
	props := k.given(spec)
	if spec.Operations > 0 {
		props["operationcount"] = strconv.FormatInt(spec.Operations, 10)
	}
	p, unknown, err := ParseYCSB(props, spec.Open)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		return nil, unknownParam(unknown[0], YCSBProperties())
	}
	p.Name, p.Seed = k.name, spec.Seed
	return NewCore(p)
}

func coreParamList(k *kind) []Param {
	return withDefaults(describe(newRaw("core", Corrected).settings()), k.coreGiven(&Spec{}))
}

func ycsbParamList(k *kind) []Param {
	return withDefaults(YCSBProperties(), k.given(&Spec{}))
}

// withDefaults replaces defaults by those of a stock workload.
func withDefaults(params []Param, stock map[string]string) []Param {
	for i := range params {
		if v, ok := stock[params[i].Name]; ok {
			params[i].Default = v
		}
	}
	return params
}
