package spec

import (
	"fmt"
	"slices"
	"strings"
)

// labDefaults names the lab that the study starts, makes it the target, and batches the factors that change it. The
// other defaults of a lab are filled in after its levels.
func (s *Study) labDefaults() {
	if s.Lab == nil {
		return
	}
	if s.Lab.Name == "" {
		l := *s.Lab // the caller may use it again
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

// labNameOf makes the name of a lab from the name of a study. Its prefix keeps it apart from names that people choose.
func labNameOf(study string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, "study-"+strings.ToLower(study))
	return strings.TrimRight(name[:min(len(name), 32)], "-")
}

// Title is the name of a factor or, without one, the last part of its path.
func (f *Factor) Title() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Path[strings.LastIndexByte(f.Path, '.')+1:]
}

// Place is the index of a level by its name or value, -1 if there is none.
func (f *Factor) Place(level string) int {
	return slices.IndexFunc(f.Levels, func(l Level) bool {
		return l.Name == level || l.Name == "" && fmt.Sprint(l.Value) == level
	})
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

// checkLab checks the name of the lab. The rest is checked with the levels applied.
func (s *Study) checkLab() error {
	if s.Lab == nil {
		return nil
	}
	if err := CheckLabName(s.Lab.Name); err != nil {
		return indent("lab", err)
	}
	return nil
}
