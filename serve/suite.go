package serve

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// entryOfSuite is a suite in the list: how far it came.
func entryOfSuite(s *record.Suite) Entry {
	e := Entry{Kind: record.KindSuite, Title: s.Specification.Name, What: s.Specification.Title, Status: s.Status, Started: s.Started, Labels: s.Specification.Labels}
	e.Verdict = partsDone(s)
	if s.Status != record.Complete {
		e.Verdict += ", " + string(s.Status)
	}
	return e
}

// partsDone says how many parts are done, and what became of the others.
func partsDone(s *record.Suite) string {
	counts := map[record.PartStatus]int{}
	for i := range s.Parts {
		counts[s.Parts[i].Status]++
	}
	text := fmt.Sprintf("%d of %s done", counts[record.PartDone], figure.Plural(len(s.Parts), "part"))
	for _, status := range []record.PartStatus{record.PartFailed, record.PartLeft} {
		if n := counts[status]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return text
}

// partNames are what the parts of a suite are called by the paths of their records in it.
func partNames(s *record.Suite) map[string]string {
	names := map[string]string{}
	for i := range s.Parts {
		p := &s.Parts[i]
		names[path.Join(record.PartsDir, p.Name)] = p.Name // where it is going to be, too
		if p.Record != "" {
			names[path.Clean(p.Record)] = p.Name
		}
	}
	return names
}

// nameParts says of everything below a suite that it belongs to it, and gives parts the names that the suite has for them.
func nameParts(found map[string]seen) {
	var suites []string
	for where, s := range found {
		if s.entry.Kind == record.KindSuite {
			suites = append(suites, where)
		}
	}
	slices.Sort(suites) // the outer one comes last, and has what is in the inner one
	slices.Reverse(suites)
	for _, suite := range suites {
		for where, s := range found {
			part, below := belowOf(suite, where)
			if !below {
				continue
			}
			s.entry.Within = found[suite].entry.ID
			if name := found[suite].trials[part]; name != "" {
				s.entry.Title, s.entry.What = name, s.entry.Title
			}
			found[where] = s
		}
	}
}

// belowOf is the path of a record within the directory of a suite, and whether it is in there.
func belowOf(suite, where string) (string, bool) {
	if suite == "." {
		return where, where != "."
	}
	return strings.CutPrefix(where, suite+"/")
}

// Inside are the records of a suite's parts by the ID of the suite; without one, those that belong to none.
func Inside(list []Entry, suite string) []Entry {
	return slices.DeleteFunc(slices.Clone(list), func(e Entry) bool { return e.Within != suite })
}

// listTitle is what the list is called.
func (s *Server) listTitle(in string) string {
	if e, _, ok := s.library.find(in); in != "" && ok {
		return "Records of " + e.Title
	}
	return "Records"
}

var linksTemplate = template.Must(template.New("").Parse(`<nav aria-label="Parts"><p class="note">Records of the parts: {{range $i, $e := .Parts}}{{if $i}}, {{end}}` +
	`<a href="{{if .Live}}/live/{{else}}/record/{{end}}{{.ID}}">{{.Title}}</a>{{end}}{{if .All}}; <a href="/?in={{.All}}">with their trials and rounds</a>{{end}}</p></nav>`))

// partLinks lead from a suite to the records of its parts; nothing for other records.
func (s *Server) partLinks(e Entry) template.HTML {
	if e.Kind != record.KindSuite {
		return ""
	}
	say := struct {
		Parts []Entry
		All   string
	}{}
	for _, x := range Inside(s.library.list(), e.ID) {
		if part, ok := belowOf(e.Path, x.Path); ok && path.Dir(part) == record.PartsDir {
			say.Parts = append(say.Parts, x)
		}
	}
	if len(say.Parts) == 0 {
		return ""
	}
	slices.SortStableFunc(say.Parts, func(a, b Entry) int { return a.Started.Compare(b.Started) })
	if !s.o.Alone {
		say.All = e.ID
	}
	var b bytes.Buffer
	if linksTemplate.Execute(&b, say) != nil {
		return ""
	}
	//nolint:gosec // html/template made it
	return template.HTML(b.String())
}

// suiteNow is how far a suite is.
type suiteNow struct{ dir, path string }

var suiteTemplate = template.Must(template.New("").Parse(`{{.Text}}{{with .Running}}; <a href="/live/{{.ID}}">{{.Name}} is running</a>{{end}}`))

func (n *suiteNow) text() template.HTML {
	s, err := record.OpenSuite(n.dir)
	if err != nil {
		return ""
	}
	type running struct{ ID, Name string }
	say := struct {
		Text    string
		Running *running
	}{Text: partsDone(s)}
	for i := range s.Parts {
		p := &s.Parts[i]
		where := path.Join(record.PartsDir, p.Name)
		if p.Record != "" {
			where = path.Clean(p.Record)
		}
		if p.Status != record.PartRunning || !filepath.IsLocal(filepath.FromSlash(where)) {
			continue
		}
		if holds(n.dir, where) {
			say.Running = &running{idOf(path.Join(n.path, where)), p.Name}
			html.Tidy(&say.Running.Name)
		} else {
			name := p.Name
			html.Tidy(&name)
			say.Text += "; " + name + " is being prepared"
		}
	}
	var b bytes.Buffer
	if suiteTemplate.Execute(&b, say) != nil {
		return ""
	}
	//nolint:gosec // html/template made it
	return template.HTML(b.String())
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
