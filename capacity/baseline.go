package capacity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// ofAnother returns the sorted keys besides load and workload in which a configuration of a study differs from the
// baseline: it is not the same deployment. The baseline itself has none.
func ofAnother(s *record.Study, id string) []string {
	i := slices.IndexFunc(s.Configurations, func(c record.Configuration) bool { return c.Baseline })
	if i < 0 || s.Configurations[i].ID == id {
		return nil
	}
	baseline, c := s.Configurations[i].Set, configurationOf(s, id).Set
	paths := map[string]bool{}
	for path := range baseline {
		paths[path] = true
	}
	for path := range c {
		paths[path] = true
	}
	var base map[string]any // nil on an error, and then different from everything that is set
	if b, err := json.Marshal(s.Base); err == nil {
		_ = json.Unmarshal(b, &base)
	}
	var differ []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if room, _, _ := strings.Cut(path, "."); room == "load" || room == "workload" {
			continue
		}
		if valueOf(path, c, base) != valueOf(path, baseline, base) {
			differ = append(differ, path)
		}
	}
	return differ
}

// valueOf is the text of the value of a path in a configuration, or else in the base run.
func valueOf(path string, set map[string]any, base map[string]any) string {
	if x, ok := set[path]; ok {
		return fmt.Sprint(x)
	}
	var x any = base
	for key := range strings.SplitSeq(path, ".") {
		m, _ := x.(map[string]any)
		x = m[key]
	}
	return fmt.Sprint(x)
}
