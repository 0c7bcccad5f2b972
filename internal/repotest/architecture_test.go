package repotest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packageRow is a row of the tables of packages in ARCHITECTURE.md: package, job, what it may import.
var packageRow = regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| .* \\| ([^|]+) \\|$")

// The tables of ARCHITECTURE.md have all packages, with the imports that the rules allow.
func TestArchitectureShowsTheRules(t *testing.T) {
	shown := map[string]bool{}
	for _, m := range packageRow.FindAllStringSubmatch(read(t, "ARCHITECTURE.md"), -1) {
		shown[m[1]] = true
		r, known := ruleFor(m[1])
		if !known {
			t.Errorf("%s has no import rule", m[1])
			continue
		}
		var have []string
		for folder := range strings.SplitSeq(strings.NewReplacer("`", "", "…", "...", "everything", "...", "–", "").Replace(m[2]), ", ") {
			if folder != "" {
				have = append(have, folder)
			}
		}
		want := slices.Clone(r.may)
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("ARCHITECTURE.md lets %s import %q, the rule %q", m[1], have, want)
		}
	}
	for pattern := range rooms {
		if !strings.HasSuffix(pattern, "...") && !shown[pattern] {
			t.Errorf("%s is not in the tables of ARCHITECTURE.md", pattern)
		}
	}
}
