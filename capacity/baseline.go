package capacity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// ofAnother returns the keys besides load and workload in which a configuration of a study differs from the baseline,
// sorted: what was measured with them is not the deployment that the baseline is. The baseline differs in none,
// whatever the levels that it consists of set.
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
	base := tree(s.Base)
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

// tree is a specification as its keys in JSON are nested.
func tree(asked spec.Run) map[string]any {
	var out map[string]any
	b, err := json.Marshal(asked)
	if err != nil || json.Unmarshal(b, &out) != nil {
		return nil // what it says is then not known, and differs from everything that is set
	}
	return out
}

// valueOf is the text of what a path is in a configuration: what it sets, or else what the base run says.
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
