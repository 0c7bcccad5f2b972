package study

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// factor is a factor whose paths were followed and whose values were read.
type factor struct {
	spec.Factor
	levels   []level
	baseline int // index of the level that the others are compared with
}

// level is what one level changes.
type level struct {
	name string
	set  []change
}

// change sets one field.
type change struct {
	field field
	value reflect.Value
	plain any // the value as records keep it
	unset bool
}

// readFactors follows the paths of all factors and reads the values of all levels. The error has a line per mistake.
func readFactors(asked *spec.Study) ([]factor, error) {
	var factors []factor
	var errs []error
	for _, f := range asked.Factors {
		out := factor{Factor: f}
		for _, l := range f.Levels {
			changes, err := readLevel(f, l)
			if err == nil {
				err = errors.Join(needsLab(asked, changes), noDefaults(wholeOf(asked), changes, asked.Lab != nil))
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("factor %q, level %q: %w", f.Name, l.Name, err))
			}
			out.levels = append(out.levels, level{l.Name, changes})
		}
		factors = append(factors, out)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return factors, notFoundByProcedures(asked, factors)
}

func readLevel(f spec.Factor, l spec.Level) ([]change, error) {
	set := l.Set
	if set == nil {
		set = map[string]any{f.Path: l.Value}
	}
	var changes []change
	for _, path := range slices.Sorted(maps.Keys(set)) {
		c, err := newChange(path, set[path])
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// noDefaults refuses levels that set a number to nothing where nothing stands for a default: what would run is not what
// tables would call it. Who wants the default names it, or unsets the key with null.
func noDefaults(base whole, changes []change, lab bool) error {
	w := base.copied()
	for _, c := range changes {
		c.field.set(&w, c.value)
	}
	_ = w.complete(lab) // what is wrong is said with the configuration
	var errs []error
	for _, c := range changes {
		if !c.value.IsZero() || c.unset || c.value.Kind() == reflect.String {
			continue
		}
		if v, given := c.field.get(&w); given && !v.IsZero() {
			errs = append(errs, fmt.Errorf("%s: %v stands for the default, which is %v here: name that, or leave the level out", c.field.path, c.value.Interface(), v.Interface()))
		}
	}
	return errors.Join(errs...)
}

// needsLab refuses keys of a lab where the study does not bring one up.
func needsLab(asked *spec.Study, changes []change) error {
	_, isLab := spec.LabOf(asked.Run.Target)
	for _, c := range changes {
		switch {
		case !c.field.lab || asked.Lab != nil:
		case isLab:
			return fmt.Errorf("%s: %s runs already and is taken as it is; describe the lab below the key lab, and the study brings it up itself", c.field.path, asked.Run.Target)
		default:
			return fmt.Errorf("%s: the study has no lab; describe the one that it is to bring up below the key lab", c.field.path)
		}
	}
	return nil
}

// wholeOf is the base of a study.
func wholeOf(asked *spec.Study) whole {
	w := whole{Run: asked.Run}
	if asked.Lab != nil {
		w.Lab = *asked.Lab
	}
	return w
}

func newChange(path string, value any) (change, error) {
	f, err := find(path)
	if err != nil {
		return change{}, err
	}
	v, err := f.parse(value)
	if err != nil {
		return change{}, err
	}
	return change{f, v, plain(v), value == nil}, nil
}

// checkShared refuses two factors that set the same key, because which of them wins would depend on their order.
// One at a time they may, if their baselines agree: then only one of them ever says something of its own.
func checkShared(asked *spec.Study, factors []factor) error {
	type owner struct {
		factor   string
		baseline any
		says     bool // whether its baseline sets the key
	}
	owners := map[string]owner{}
	for _, f := range factors {
		mine := map[string]owner{}
		for _, l := range f.levels {
			for _, c := range l.set {
				mine[c.field.path] = owner{factor: f.Name}
			}
		}
		for _, c := range f.levels[f.baseline].set {
			mine[c.field.path] = owner{f.Name, c.plain, true}
		}
		for _, path := range slices.Sorted(maps.Keys(mine)) {
			m := mine[path]
			other, shared := owners[path]
			switch {
			case !shared || !other.says && asked.Combine == spec.CombineOneAtATime:
				owners[path] = m
			case asked.Combine != spec.CombineOneAtATime:
				return fmt.Errorf("factors %q and %q both set %s: put what belongs together into one factor, with set", other.factor, m.factor, path)
			case m.says && !reflect.DeepEqual(other.baseline, m.baseline):
				return fmt.Errorf("factors %q and %q both set %s, and their baselines differ (%v and %v): mark the levels that are the baseline",
					other.factor, m.factor, path, other.baseline, m.baseline)
			}
		}
	}
	return nil
}

// notFoundByProcedures refuses factors that override what a procedure is to find.
func notFoundByProcedures(asked *spec.Study, factors []factor) error {
	p := asked.Procedures
	if p == nil {
		return nil
	}
	found := map[string]string{}
	if p.Threads != nil {
		found["load.workers"] = "threads"
	}
	if p.Steady != nil {
		found["load.duration"], found["load.operations"] = "steady", "steady"
	}
	var errs []error
	for _, f := range factors {
		for _, path := range slices.Sorted(maps.Keys(found)) {
			if procedure := found[path]; f.everywhere(path) {
				errs = append(errs, fmt.Errorf("factor %q sets %s in all its levels, so what procedures.%s finds would never be used: leave one of them out", f.Name, path, procedure))
			}
		}
	}
	return errors.Join(errs...)
}

// everywhere reports whether every level sets the path.
func (f *factor) everywhere(path string) bool {
	for _, l := range f.levels {
		if !slices.ContainsFunc(l.set, func(c change) bool { return c.field.path == path }) {
			return false
		}
	}
	return true
}

// findBaseline chooses the level that the others are compared with: the marked one, else the one that the base run
// has, else the first. The note says where that overrides something that the base run says.
func (f *factor) findBaseline(raw, base *whole) (note string) {
	for i, l := range f.Levels {
		if l.Baseline {
			f.baseline = i
			return ""
		}
	}
	for i, l := range f.levels {
		if l.in(base) {
			f.baseline = i
			return ""
		}
	}
	for _, c := range f.levels[0].set {
		if v, given := c.field.get(raw); given {
			return fmt.Sprintf("the base %s has %s: %s, which is no level of %s; its baseline is %s, the first level",
				c.field.of(), c.field.path, fmt.Sprint(plain(v)), f.Name, f.levels[0].name)
		}
	}
	return ""
}

// in reports whether a run has all that the level sets.
func (l *level) in(base *whole) bool {
	for _, c := range l.set {
		v, given := c.field.get(base)
		if !given && strings.HasPrefix(c.field.path, "workload.params.") {
			if c.plain != paramDefault(base.Run.Workload.Name, c.field.key) {
				return false
			}
		} else if !reflect.DeepEqual(plain(v), c.plain) {
			return false
		}
	}
	return true
}

// paramDefault is the value of a parameter that a run does not give.
func paramDefault(name, param string) any {
	params, err := workload.ParamsOf(name)
	if err != nil {
		return nil
	}
	for _, p := range params {
		if p.Name == param {
			return p.Default
		}
	}
	return nil
}

// point is one configuration as indices into the levels of the factors.
type point []int

// points lists the configurations to run, the baseline first.
func points(asked *spec.Study, factors []factor) ([]point, error) {
	base := make(point, len(factors))
	for i, f := range factors {
		base[i] = f.baseline
	}
	switch {
	case len(factors) == 0:
		return []point{base}, nil
	case asked.Combine == spec.CombineGrid:
		return grid(factors, base)
	case asked.Combine == spec.CombineFraction:
		return fraction(factors, base, int(asked.Fraction), asked.Seed)
	}
	all := []point{base}
	for i, f := range factors {
		for l := range f.levels {
			if l != f.baseline {
				p := slices.Clone(base)
				p[i] = l
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// maxConfigurations is more than anybody can run; a grid grows without being noticed.
const maxConfigurations = 10_000

// grid lists all combinations, the baseline first, the last factor changing fastest.
func grid(factors []factor, base point) ([]point, error) {
	size := gridSize(factors)
	if size > maxConfigurations {
		return nil, fmt.Errorf("the grid has %s configurations, the limit is %d: leave out levels, or run a part of it with combine: fraction", large(size), maxConfigurations)
	}
	all := []point{base}
	p := make(point, len(factors))
	for {
		if !slices.Equal(p, base) {
			all = append(all, slices.Clone(p))
		}
		i := len(p) - 1
		for ; i >= 0; i-- {
			if p[i]++; p[i] < len(factors[i].levels) {
				break
			}
			p[i] = 0
		}
		if i < 0 {
			return all, nil
		}
	}
}

// gridSize is the number of all combinations; a float, because sixty-four factors multiply to more than any integer.
func gridSize(factors []factor) float64 {
	size := 1.0
	for _, f := range factors {
		size *= float64(len(f.levels))
	}
	return size
}

func large(x float64) string {
	if x < 1e9 {
		return fmt.Sprintf("%.0f", x)
	}
	return "more than a billion"
}

// configuration makes the record's form of a point. Its ID names the levels that differ from the baseline, and all of
// them where several may.
func configuration(factors []factor, p, base point, raw *whole, several bool) record.Configuration {
	c := record.Configuration{Baseline: slices.Equal(p, base)}
	var id, differ []string
	for i, f := range factors {
		l := f.levels[p[i]]
		if c.Levels == nil {
			c.Levels = map[string]string{}
		}
		c.Levels[f.Name] = l.name
		if p[i] != base[i] || several {
			id = append(id, f.Name+"="+l.name)
		}
		if p[i] != base[i] {
			differ = append(differ, f.Name)
			c.Exploratory = c.Exploratory || f.Exploratory
		}
	}
	for _, ch := range changes(factors, p, base) {
		if v, given := ch.field.get(raw); given && reflect.DeepEqual(plain(v), ch.plain) {
			delete(c.Set, ch.field.path)
			continue
		}
		if c.Set == nil {
			c.Set = map[string]any{}
		}
		c.Set[ch.field.path] = ch.plain
	}
	if len(c.Set) == 0 {
		c.Set = nil
	}
	c.ID = "baseline"
	if !c.Baseline {
		c.ID = strings.Join(id, ",")
	}
	if len(differ) == 1 {
		c.Factor = differ[0]
	}
	return c
}

// changes lists what a point changes: the levels that are the baseline first, so that the others win.
func changes(factors []factor, p, base point) []change {
	var first, then []change
	for i, f := range factors {
		if p[i] == base[i] {
			first = append(first, f.levels[p[i]].set...)
		} else {
			then = append(then, f.levels[p[i]].set...)
		}
	}
	return append(first, then...)
}

// apply returns the run and the lab of a point, complete, and what is wrong with them.
func apply(factors []factor, p, base point, raw whole, lab bool) (w whole, wrong error) {
	w = raw.copied()
	for _, c := range changes(factors, p, base) {
		c.field.set(&w, c.value)
	}
	wrong = w.complete(lab)
	return w, wrong
}
