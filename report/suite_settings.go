package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/published"
)

// settingsSections are the tables of the document that say how something was set, with what it is here.
func (s *Suite) settingsSections() (list []Section) {
	if s.Source == nil {
		return nil
	}
	set, part := s.settings()
	for i := range s.Source.Settings {
		x := &s.Source.Settings[i]
		title := x.Item + ": " + x.Section
		if len(list) == 0 || list[len(list)-1].Title != title {
			list = append(list, Section{Title: title, Table: &Table{Left: 3, Header: []string{"setting", "document", "here"}},
				Lines: []string{"how it was set, there and here; the scale is " + suiteScale(s)}})
			if part != "" && slices.ContainsFunc(s.Source.Settings, func(o published.Setting) bool {
				return o.Item == x.Item && o.Path != ""
			}) {
				list[len(list)-1].Lines = append(list[len(list)-1].Lines, "here: as part "+part+" has it")
			}
		}
		here := x.Here
		if x.Path != "" {
			here = cmp.Or(setting(set, x.Path), "-")
		}
		list[len(list)-1].Table.row(x.Says, x.Value, here)
	}
	return list
}

func (s *Suite) settings() (set map[string]any, part string) {
	for i := range s.Parts {
		study := s.Parts[i].Study
		if study == nil {
			continue
		}
		for _, x := range []any{study.Base, map[string]any{"lab": study.Specification.Lab}} {
			text, err := json.Marshal(x)
			if err == nil {
				err = json.Unmarshal(text, &set)
			}
			if err != nil {
				return nil, ""
			}
		}
		return set, s.Parts[i].Name
	}
	return nil, ""
}

// setting returns the value of a key such as lab.hosts.cores, "" if there is none.
func setting(set any, path string) string {
	for _, key := range strings.Split(path, ".") {
		object, ok := set.(map[string]any)
		if !ok || object[key] == nil {
			return ""
		}
		set = object[key]
	}
	if n, ok := set.(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return figure.Count(int64(n))
	}
	return fmt.Sprint(set)
}
