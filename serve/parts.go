package serve

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/markup"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// nameParts says of each record below another that it belongs to it, and gives it the name that the other one has for
// it. Of records within each other the outermost one counts.
func nameParts(found map[string]seen) {
	for where, s := range found {
		for dir := where; dir != "."; {
			dir = path.Dir(dir)
			outer, ok := found[dir]
			part, below := belowOf(dir, where)
			if !ok || !below || !record.Owns(outer.read.Kind, part) {
				continue
			}
			s.entry.Within = outer.entry.ID
			if name := partName(outer.parts, part); name != "" {
				s.entry.Title, s.entry.What = name, cmp.Or(s.read.Title, s.entry.Title)
			}
		}
		found[where] = s
	}
}

// partName is the name of a record below another, "" if it has none. A later attempt has the name of the first one.
func partName(names map[string]string, part string) string {
	if name := names[part]; name != "" {
		return name
	}
	if i := strings.LastIndexByte(part, '-'); i > 0 && !strings.Contains(part[i:], "/") {
		return names[part[:i]]
	}
	return ""
}

// belowOf is the path of a record within the directory of a suite, and whether it is in there.
func belowOf(suite, where string) (string, bool) {
	if suite == "." {
		return where, where != "."
	}
	return strings.CutPrefix(where, suite+"/")
}

// Inside are the records within the one that has an ID; without an ID, those that are part of no other.
func Inside(list []Entry, id string) []Entry {
	at := slices.IndexFunc(list, func(e Entry) bool { return e.ID == id })
	return slices.DeleteFunc(slices.Clone(list), func(e Entry) bool {
		if id == "" {
			return e.Within != ""
		}
		if at < 0 {
			return true
		}
		part, below := belowOf(list[at].Path, e.Path)
		return !below || !record.Owns(list[at].Kind, part)
	})
}

// partLinks lead from a suite to the records of its parts, and from a study or drill to its trials or rounds; nothing
// for other records.
func (s *Server) partLinks(e Entry) markup.HTML {
	all, each := report.Below(e.Kind)
	if all == "" {
		return ""
	}
	var parts []Entry
	inside := Inside(s.library.list(), e.ID)
	for _, x := range inside {
		if part, ok := belowOf(e.Path, x.Path); ok && each && strings.Count(part, "/") == 1 {
			parts = append(parts, x)
		}
	}
	more := !s.o.Alone && len(inside) > 0
	if len(parts) == 0 && !more {
		return ""
	}
	slices.SortStableFunc(parts, func(a, b Entry) int { return a.Started.Compare(b.Started) })
	var w markup.Writer
	w.Add(`<nav aria-label="Parts"><p class="note">Records of the parts: `)
	for i := range parts {
		w.AddIf(i > 0, ", ")
		w.Add("%s", link(&parts[i]))
	}
	w.AddIf(more && len(parts) > 0, "; ")
	w.AddIf(more, `<a href="/?in=%s">%s</a>`, e.ID, all)
	w.Add("</p></nav>")
	return w.HTML()
}

// stateOfParts changes with the files of the parts of a suite; it is empty for other records.
func stateOfParts(dir string) string {
	at, err := record.Below(dir, record.PartsDir)
	if err != nil {
		return ""
	}
	var b strings.Builder
	parts, _ := os.ReadDir(at) // what cannot be read has no state
	for _, p := range parts {
		if !p.IsDir() {
			continue
		}
		b.WriteString(stateOfFiles(filepath.Join(at, p.Name())))
		b.WriteString(stateOfDrill(filepath.Join(at, p.Name())))
	}
	return b.String()
}
