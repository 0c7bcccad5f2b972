package capacity

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Configured is what a configuration of a study ran: its run, and its lab if it has one.
type Configured struct {
	spec.Run
	Lab *spec.Lab `yaml:"lab"`
	set map[string]any
}

// Configure applies the keys of a configuration to the base of its study. Those that are not possible are left out, and
// are an error.
func Configure(s *record.Study, set map[string]any) (Configured, error) {
	c := deep.Copy(Configured{Run: s.Base, Lab: s.Specification.Lab})
	c.set = set
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(set)) {
		p, ok := spec.PathIn(reflect.TypeFor[Configured](), path)
		if !ok {
			errs = append(errs, fmt.Errorf("unknown path %q", path))
			continue
		}
		v, err := spec.Convert(p.Type, set[path])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
			continue
		}
		p.Set(&c, v)
	}
	return c, errors.Join(errs...)
}

// Value is the text of the value of a path, "" if it has none.
func (c *Configured) Value(path string) string {
	p, ok := spec.PathIn(reflect.TypeFor[Configured](), path)
	if !ok {
		return fmt.Sprint(c.set[path])
	}
	v, ok := p.Get(c)
	if !ok {
		return ""
	}
	text, err := json.Marshal(v.Interface())
	if err != nil { // cannot happen; a test of package record checks it
		return fmt.Sprint(v.Interface())
	}
	return strings.Trim(string(text), `"`)
}

// ofAnother returns the sorted keys besides load and workload in which a configuration of a study differs from the
// baseline: it is not the same deployment. The baseline itself has none.
func ofAnother(s *record.Study, id string) (differ []string) {
	i := slices.IndexFunc(s.Configurations, func(c record.Configuration) bool { return c.Baseline })
	if i < 0 || s.Configurations[i].ID == id {
		return nil
	}
	other, paths := configurationOf(s, id).Set, map[string]any{}
	maps.Copy(paths, s.Configurations[i].Set)
	maps.Copy(paths, other)
	base, _ := Configure(s, s.Configurations[i].Set) // an old record may have keys that are gone
	c, _ := Configure(s, other)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if room, _, _ := strings.Cut(path, "."); room != "load" && room != "workload" && base.Value(path) != c.Value(path) {
			differ = append(differ, path)
		}
	}
	return differ
}
