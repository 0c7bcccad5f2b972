package spec

import (
	"fmt"
	"slices"
	"strings"
)

// labDefaults names the lab that the study brings up, makes it the target, and takes the factors that change it for those
// whose change is expensive. The rest of a lab has its defaults once its levels are applied.
func (s *Study) labDefaults() {
	if s.Lab == nil {
		return
	}
	if s.Lab.Name == "" {
		l := *s.Lab // whoever gave it may use it again
		l.Name = labNameOf(s.Name)
		s.Lab = &l
	}
	def(&s.Run.Target, LabTarget(s.Lab.Name))
	if s.Order != OrderBatched || len(s.Batch) > 0 {
		return
	}
	for _, f := range s.Factors {
		if f.ChangesLab() {
			s.Batch = append(s.Batch, f.Name)
		}
	}
}

// labNameOf makes the name of a lab of the name of a study. It has a prefix, so that it is none that people choose.
func labNameOf(study string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, "study-"+strings.ToLower(study))
	return strings.TrimRight(name[:min(len(name), 32)], "-")
}

// Title is what a factor is called; without a name, the last part of its path.
func (f *Factor) Title() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Path[strings.LastIndexByte(f.Path, '.')+1:]
}

// Place is where a level stands in the list of the factor, by its name or its value; -1 if it is none of them.
func (f *Factor) Place(level string) int {
	return slices.IndexFunc(f.Levels, func(l Level) bool { return l.Name == level || l.Name == "" && fmt.Sprint(l.Value) == level })
}

// ChangesLab reports whether a level of the factor sets a key of the lab.
func (f *Factor) ChangesLab() bool {
	if strings.HasPrefix(f.Path, "lab.") {
		return true
	}
	return slices.ContainsFunc(f.Levels, func(l Level) bool {
		for path := range l.Set {
			if strings.HasPrefix(path, "lab.") {
				return true
			}
		}
		return false
	})
}

// checkLab refuses what the lab of a study cannot have. The rest of it is checked with its levels applied.
func (s *Study) checkLab() error {
	if s.Lab == nil {
		return nil
	}
	if err := CheckLabName(s.Lab.Name); err != nil {
		return indent("lab", err)
	}
	return nil
}
