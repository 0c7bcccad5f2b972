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

// factor is a factor with resolved paths and parsed values.
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
	path  spec.Path
	value reflect.Value
	plain any // the value as records keep it
	unset bool
}

// readFactors resolves the paths of all factors and parses the values of all levels. The error has a line per mistake.
func readFactors(asked *spec.Study) ([]factor, error) {
	var factors []factor
	var errs []error
	for _, f := range asked.Factors {
		out := factor{Factor: f}
		for _, l := range f.Levels {
			set := l.Set
			if set == nil {
				set = map[string]any{f.Path: l.Value}
			}
			changes, err := newChanges(set)
			if err == nil {
				err = errors.Join(needsLab(asked, changes), noDefaults(baseOf(asked), changes, asked.Lab != nil))
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

// newChanges reads values by their paths.
func newChanges(set map[string]any) ([]change, error) {
	var changes []change
	for _, path := range slices.Sorted(maps.Keys(set)) {
		p, err := find(path)
		if err != nil {
			return nil, err
		}
		v, err := spec.Convert(p.Type, set[path])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		changes = append(changes, change{p, v, plain(v), set[path] == nil})
	}
	return changes, nil
}

// noDefaults rejects levels that set a key to zero if zero is replaced by a default, because tables would show a value
// that was not run. For the default, name its value or unset the key with null.
func noDefaults(base settings, changes []change, lab bool) error {
	w := base.with(changes)
	_ = w.complete(lab) // what is wrong is said with the configuration
	var errs []error
	for _, c := range changes {
		if !c.value.IsZero() || c.unset || c.value.Kind() == reflect.String {
			continue
		}
		if v, given := c.path.Get(&w); given && !v.IsZero() {
			errs = append(errs, fmt.Errorf("%s: %v means the default, which is %v here. Use that value, or remove the level",
				c.path.Name, c.value.Interface(), v.Interface()))
		}
	}
	return errors.Join(errs...)
}

// needsLab rejects keys of a lab if the study does not bring one up.
func needsLab(asked *spec.Study, changes []change) error {
	_, isLab := spec.LabOf(asked.Run.Target)
	for _, c := range changes {
		switch {
		case ownerOf(c.path.Name) == "run" || asked.Lab != nil:
		case isLab:
			return fmt.Errorf("%s: %s is already running, so the study cannot change it. Describe the lab under the key lab, so that "+
				"the study brings it up", c.path.Name, asked.Run.Target)
		default:
			return fmt.Errorf("%s: the study has no lab. Describe it under the key lab", c.path.Name)
		}
	}
	return nil
}

// baseOf returns the base of a study.
func baseOf(asked *spec.Study) settings {
	w := settings{Run: asked.Run}
	if asked.Lab != nil {
		w.Lab = *asked.Lab
	}
	return w
}

// checkShared rejects two factors that set the same key, because the result would depend on their order. One at a time
// is allowed if their baselines agree, because then only one of them differs from the baseline.
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
				mine[c.path.Name] = owner{factor: f.Name}
			}
		}
		for _, c := range f.levels[f.baseline].set {
			mine[c.path.Name] = owner{f.Name, c.plain, true}
		}
		for _, path := range slices.Sorted(maps.Keys(mine)) {
			m := mine[path]
			other, shared := owners[path]
			switch {
			case !shared || !other.says && asked.Combine == spec.CombineOneAtATime:
				owners[path] = m
			case asked.Combine != spec.CombineOneAtATime:
				return fmt.Errorf("factors %q and %q both set %s. Combine them in one factor, with set", other.factor, m.factor, path)
			case m.says && !reflect.DeepEqual(other.baseline, m.baseline):
				return fmt.Errorf("factors %q and %q both set %s, but their baselines differ (%v and %v). Mark the baseline levels",
					other.factor, m.factor, path, other.baseline, m.baseline)
			}
		}
	}
	return nil
}

// notFoundByProcedures rejects factors that override what a procedure finds.
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
				errs = append(errs, fmt.Errorf("factor %q sets %s in all its levels, so the result of procedures.%s would never be "+
					"used. Remove one of them", f.Name, path, procedure))
			}
		}
	}
	return errors.Join(errs...)
}

// everywhere reports whether every level sets the path.
func (f *factor) everywhere(path string) bool {
	return !slices.ContainsFunc(f.levels, func(l level) bool {
		return !slices.ContainsFunc(l.set, func(c change) bool { return c.path.Name == path })
	})
}

// findBaseline chooses the baseline level: the marked one, else the one that the base run has, else the first. The note
// says if that overrides the base run.
func (f *factor) findBaseline(raw, base *settings) (note string) {
	i := slices.IndexFunc(f.Levels, func(l spec.Level) bool { return l.Baseline })
	if i < 0 {
		i = slices.IndexFunc(f.levels, func(l level) bool { return l.in(base) })
	}
	if i >= 0 {
		f.baseline = i
		return ""
	}
	for _, c := range f.levels[0].set {
		if v, given := c.path.Get(raw); given {
			return fmt.Sprintf("the base %s has %s: %s, which is not a level of %s. The baseline is %s, the first level",
				ownerOf(c.path.Name), c.path.Name, fmt.Sprint(plain(v)), f.Name, f.levels[0].name)
		}
	}
	return ""
}

// paramPrefix begins the paths of the parameters of the workload.
const paramPrefix = "workload.params."

// in reports whether the base has all that the level sets.
func (l *level) in(base *settings) bool {
	for _, c := range l.set {
		v, given := c.path.Get(base)
		if !given && strings.HasPrefix(c.path.Name, paramPrefix) {
			if c.plain != paramDefault(base.Run.Workload.Name, strings.TrimPrefix(c.path.Name, paramPrefix)) {
				return false
			}
		} else if !reflect.DeepEqual(plain(v), c.plain) {
			return false
		}
	}
	return true
}

func paramDefault(name, param string) any {
	params, err := workload.ParamsOf(name)
	i := slices.IndexFunc(params, func(p workload.Param) bool { return p.Name == param })
	if err != nil || i < 0 {
		return nil
	}
	return params[i].Default
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

const maxConfigurations = 10_000

// grid lists all combinations, the baseline first, the last factor changing fastest.
func grid(factors []factor, base point) ([]point, error) {
	size := gridSize(factors)
	if size > maxConfigurations {
		return nil, fmt.Errorf("the grid has %s configurations, the limit is %d. Remove levels, or run a part with combine: "+
			"fraction", large(size), maxConfigurations)
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

// gridSize is a float, because the product of 64 factors exceeds any integer.
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

// configuration makes the record of a point. Its ID names the levels that differ from the baseline, or all levels if
// several may differ.
func configuration(factors []factor, p, base point, raw *settings, several bool) record.Configuration {
	c := record.Configuration{ID: "baseline", Baseline: slices.Equal(p, base)}
	if len(factors) > 0 {
		c.Levels = map[string]string{}
	}
	var id, differ []string
	for i, f := range factors {
		l := f.levels[p[i]]
		c.Levels[f.Name] = l.name
		if p[i] != base[i] || several {
			id = append(id, f.Name+"="+l.name)
		}
		if p[i] != base[i] {
			differ = append(differ, f.Name)
			c.Exploratory = c.Exploratory || f.Exploratory
		}
	}
	set := map[string]any{}
	for _, ch := range changes(factors, p, base) {
		set[ch.path.Name] = ch.plain
		if v, given := ch.path.Get(raw); given && reflect.DeepEqual(plain(v), ch.plain) {
			delete(set, ch.path.Name)
		}
	}
	if len(set) > 0 {
		c.Set = set
	}
	if !c.Baseline {
		c.ID = strings.Join(id, ",")
	}
	if len(differ) == 1 {
		c.Factor = differ[0]
	}
	return c
}

// changes lists what a point changes, with baseline levels first, so that the others override them.
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
func apply(factors []factor, p, base point, raw settings, lab bool) (w settings, wrong error) {
	w = raw.with(changes(factors, p, base))
	wrong = w.complete(lab)
	return w, wrong
}
