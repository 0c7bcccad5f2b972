package spec

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
)

// A study that repeats a document has the sizes of the document's hardware. A scale adapts it to this machine: data,
// workers, cores, rates and servers are multiplied; times, device classes, stripes and durability stay.

// scaled is how the value of a key is scaled.
type scaled struct {
	by    func(Scale) Fraction
	round func(float64) float64
	// least is the floor, below which no server starts or no result is meaningful. Smaller written values stay.
	least float64
	unit  scaledUnit
	// why is the reason of the floor.
	why string
	// spread values are for all shards together, so they also shrink with the number of shards.
	spread bool
}

// scaledUnit is the form in which the values of a key are written.
type scaledUnit int

const (
	countUnit  scaledUnit = iota // a Count
	sizeUnit                     // a Size
	numberUnit                   // a plain number: cores
	rateUnit                     // a Rate
)

const mebibyte = 1 << 20

func byData(s Scale) Fraction    { return s.Data }
func byWorkers(s Scale) Fraction { return s.Workers }
func byCores(s Scale) Fraction   { return s.Cores }
func byRates(s Scale) Fraction   { return s.Rates }
func byServers(s Scale) Fraction { return s.Servers }

// odd rounds down to an odd number, for config servers.
func odd(x float64) float64 { return max(1, 2*math.Floor((x-1)/2)+1) }

// wholeMiB rounds to mebibytes and digits3 to three digits. Values stay readable and ratios exact to half a percent.
func wholeMiB(x float64) float64 { return math.Round(x/mebibyte) * mebibyte }

func digits3(x float64) float64 {
	if x < 1000 {
		return math.Round(x)
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	return math.Round(x/unit) * unit
}

func hundredths(x float64) float64 { return math.Round(x*100) / 100 }

// scaledKeys are the keys that a scale changes, by their paths in a run, a lab or a probe.
var scaledKeys = map[string]scaled{
	"workload.records":          {byData, digits3, 1000, countUnit, "fewer documents fit into any cache", true},
	"load.operations":           {byData, digits3, 100, countUnit, "fewer operations give no result", true},
	"load.workers":              {byWorkers, math.Round, 1, countUnit, "one worker is the least", true},
	"load.stages.workers":       {byWorkers, math.Round, 1, countUnit, "one worker is the least", true},
	"load.rate":                 {byRates, digits3, 1, rateUnit, "one operation a second is the least", false},
	"load.stages.rate":          {byRates, digits3, 1, rateUnit, "one operation a second is the least", false},
	"hosts.memory":              {byData, wholeMiB, 256 * mebibyte, sizeUnit, "no server serves with less memory", false},
	"hosts.router.memory":       {byData, wholeMiB, 256 * mebibyte, sizeUnit, "no server serves with less memory", false},
	"hosts.config.memory":       {byData, wholeMiB, 256 * mebibyte, sizeUnit, "no server serves with less memory", false},
	"engine.cache":              {byData, wholeMiB, 64 * mebibyte, sizeUnit, "no server keeps its indexes in a smaller cache", false},
	"storage.size":              {byData, wholeMiB, 1024 * mebibyte, sizeUnit, "a smaller volume has no room for logs", false},
	"storage.cache.size":        {byData, wholeMiB, 64 * mebibyte, sizeUnit, "a smaller cache tier holds nothing", false},
	"hosts.cores":               {byCores, hundredths, 0.25, numberUnit, "servers on less do not start in time", false},
	"hosts.router.cores":        {byCores, hundredths, 0.25, numberUnit, "servers on less do not start in time", false},
	"hosts.config.cores":        {byCores, hundredths, 0.25, numberUnit, "servers on less do not start in time", false},
	"topology.shards":           {byServers, math.Round, 1, countUnit, "one shard is the least", false},
	"topology.routers":          {byServers, math.Round, 1, countUnit, "one router is the least", false},
	"topology.config_servers":   {byServers, odd, 1, countUnit, "one config server is the least", false},
	"procedures.threads.from":   {byWorkers, math.Round, 1, countUnit, "one worker is the least", true},
	"procedures.threads.to":     {byWorkers, math.Round, 1, countUnit, "one worker is the least", true},
	"procedures.threads.levels": {byWorkers, math.Round, 1, countUnit, "one worker is the least", true},
	"procedures.steady.from":    {byData, digits3, 100, countUnit, "fewer operations give no result", false}, // where it is by operations
	"procedures.steady.to":      {byData, digits3, 100, countUnit, "fewer operations give no result", false},
	"procedures.capacity.from":  {byRates, digits3, 1, rateUnit, "one operation a second is the least", false},
	"procedures.capacity.to":    {byRates, digits3, 1, rateUnit, "one operation a second is the least", false},
	"threads":                   {byWorkers, math.Round, 1, countUnit, "one thread is the least", false},
	"size":                      {byData, wholeMiB, 64 * mebibyte, sizeUnit, "a smaller file fits into any cache", false},
}

// mongodFloors are the higher floors of mongod: WiredTiger refuses a smaller cache, and a host needs memory for the
// server and its connections too.
var mongodFloors = map[string]scaled{
	"engine.cache":        {least: 256 * mebibyte, why: "WiredTiger refuses a smaller cache"},
	"hosts.memory":        {least: 512 * mebibyte, why: "a mongod with the smallest cache of WiredTiger needs it"},
	"hosts.config.memory": {least: 512 * mebibyte, why: "a mongod with the smallest cache of WiredTiger needs it"},
}

// scaler scales one specification and remembers the floors that applied.
type scaler struct {
	by      Scale
	engine  string
	sharded bool
	left    []Left
	errs    []error
}

// how returns how the value of a key is scaled, and its factor; 1 for keys that stay.
func (x *scaler) how(path string) (scaled, float64) {
	key := strings.Replace(strings.TrimPrefix(path, "lab."), ".baseline", "", 1)
	how, ok := scaledKeys[key]
	if !ok {
		return how, 1
	}
	if floor, ok := mongodFloors[key]; ok && x.engine == LabMongod {
		how.least, how.why = floor.least, floor.why
	}
	factor := how.by(x.by).Or1()
	if how.spread && x.sharded {
		factor *= x.by.Servers.Or1()
	}
	return how, factor
}

// Scaled returns a copy of the study with the scale applied, and marks the scale as applied; an applied scale is not
// applied again. Names of levels stay those of the document. The list has the values that a floor kept larger. It is an
// error if two levels of a factor become equal. It must be called before [Study.Defaults], because defaults are not
// scaled.
func (s *Study) Scaled(by Scale) (Study, []Left, error) {
	if s.Scale != nil && s.Scale.Applied {
		return *s, nil, nil
	}
	out := deep.Copy(*s)
	x := scaler{by: by}
	if s.Lab != nil {
		x.engine, x.sharded = s.Lab.Engine.Name, s.Lab.Topology.Kind == LabSharded
		x.walk(reflect.ValueOf(out.Lab).Elem(), "lab")
	}
	x.walk(reflect.ValueOf(&out.Run).Elem(), "")
	if p := out.Procedures; p != nil {
		x.walk(reflect.ValueOf(p).Elem(), "procedures")
		x.distinct(s.Procedures.Threads, p.Threads)
		if p.Baseline != nil {
			x.distinct(s.Procedures.Baseline.Threads, p.Baseline.Threads)
		}
	}
	for i, f := range out.Factors {
		out.Factors[i] = x.factor(f)
	}
	by.Applied = true
	out.Scale, out.Floors = &by, x.left
	return out, x.left, errors.Join(x.errs...)
}

// value scales the number at a path. Zero, which is absent, stays.
func (x *scaler) value(path string, from float64) float64 {
	how, factor := x.how(path)
	if factor == 1 || from <= 0 {
		return from
	}
	to := how.round(from * factor)
	if to < how.least && from <= how.least {
		return from
	}
	if least := how.least; to < least {
		x.left = append(x.left, Left{What: path, From: how.unit.text(from), To: how.unit.text(least),
			Why: fmt.Sprintf("%s of %s is too little: %s", Fraction(factor), how.unit.text(from), how.why)})
		to = least
	}
	return to
}

func (u scaledUnit) text(v float64) string {
	switch u {
	case countUnit:
		return Count(v).String()
	case sizeUnit:
		return Size(v).String()
	}
	return fmt.Sprint(v)
}

func (u scaledUnit) plain(v float64) any {
	if u == sizeUnit {
		return Size(v).String()
	}
	return Plain(v)
}

// parse reads the value of a level.
func (u scaledUnit) parse(v any) (float64, error) {
	text := fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		text = fmt.Sprintf("%.10g", f)
	}
	switch u {
	case countUnit:
		n, err := ParseCount(text)
		return float64(n), err
	case sizeUnit:
		n, err := ParseSize(text)
		return float64(n), err
	}
	n, err := ParseRate(text)
	return float64(n), err
}

// walk scales the numbers of a specification.
func (x *scaler) walk(v reflect.Value, path string) {
	switch {
	case !v.CanSet():
	case v.Kind() == reflect.Struct:
		if s, ok := v.Interface().(Steady); ok && s.By != "operations" {
			return
		}
		for i := range v.NumField() {
			x.walk(v.Field(i), strings.Trim(path+"."+KeyOf(v.Type().Field(i)), "."))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		x.walk(v.Elem(), path)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			x.walk(v.Index(i), path)
		}
	case v.CanInt() || v.CanFloat():
		number := reflect.TypeFor[float64]()
		from := v.Convert(number).Float()
		if to := x.value(path, from); to != from {
			v.Set(reflect.ValueOf(to).Convert(v.Type()))
		}
	}
}

// distinct refuses levels of a procedure that became equal.
func (x *scaler) distinct(before, after *Threads) {
	if after == nil {
		return
	}
	for i, l := range after.Levels {
		if i > 0 && l == after.Levels[i-1] {
			x.errs = append(x.errs, fmt.Errorf("procedures.threads: the levels %v and %v both become %v at %v. Use a larger scale, or remove one",
				before.Levels[i-1], before.Levels[i], l, x.by.Workers))
		}
	}
}

// factor scales the levels of a factor.
func (x *scaler) factor(f Factor) Factor {
	before := slices.Clone(f.Levels)
	for i := range f.Levels {
		l := &f.Levels[i]
		if l.Set != nil {
			l.Set, _ = x.any("", l.Set).(map[string]any)
			continue
		}
		value := x.any(f.Path, l.Value)
		if l.Name == "" && !reflect.DeepEqual(value, l.Value) {
			l.Name = levelName(l.Value) // the document's, for its figures
		}
		l.Value = value
	}
	x.errs = append(x.errs, x.collapsed(f, before))
	return f
}

// collapsed is the error if two levels became equal.
func (x *scaler) collapsed(f Factor, before []Level) error {
	same := func(a, b Level) bool {
		return reflect.DeepEqual(a.Value, b.Value) && reflect.DeepEqual(a.Set, b.Set)
	}
	name := f
	name.Levels = slices.Clone(before)
	name.defaults()
	for i := range f.Levels {
		for j := range i {
			if same(f.Levels[i], f.Levels[j]) && !same(before[i], before[j]) {
				return fmt.Errorf("factor %q: the levels %q and %q become the same at the scale %v. Use a larger scale, or remove one",
					name.Name, name.Levels[j].Name, name.Levels[i].Name, x.by)
			}
		}
	}
	return nil
}

// any scales the value, mapping or list that a level sets at a path.
func (x *scaler) any(path string, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = x.any(strings.TrimPrefix(path+"."+k, "."), v[k])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = x.any(path, v[i])
		}
		return out
	}
	how, factor := x.how(path)
	if factor == 1 {
		return v
	}
	from, err := how.unit.parse(v)
	if err != nil {
		return v // the planner refuses it with its place
	}
	if to := x.value(path, from); to != from {
		return how.unit.plain(to)
	}
	return v
}

// String writes what is not 1: "data=1/128,workers=1/8".
func (s Scale) String() string {
	var parts []string
	for _, of := range []struct {
		name string
		by   Fraction
	}{{"data", s.Data}, {"workers", s.Workers}, {"cores", s.Cores}, {"rates", s.Rates}, {"servers", s.Servers}} {
		if of.by.Or1() != 1 {
			parts = append(parts, of.name+"="+of.by.String())
		}
	}
	if len(parts) == 0 {
		return "1"
	}
	return strings.Join(parts, ",")
}

// Scaled returns the probe with its threads and the size of its file scaled.
func (p PartProbe) Scaled(by Scale) (PartProbe, []Left) {
	x := scaler{by: by}
	p = deep.Copy(p)
	x.walk(reflect.ValueOf(&p).Elem(), "")
	p.Threads = slices.Compact(p.Threads)
	return p, x.left
}
