package serve

import (
	"cmp"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// entryOfSuite is a suite in the list: how far it came.
func entryOfSuite(s *record.Suite) Entry {
	e := Entry{Kind: record.KindSuite, Title: s.Specification.Name, What: s.Specification.Title, Status: s.Status,
		Started: s.Started, Labels: s.Specification.Labels}
	e.Target, e.Grade = cmp.Or(s.Against, s.Engine), report.SuiteGrade(s)
	e.Verdict = partsDone(s)
	if s.SuiteJudgement != nil && s.Counts[record.Agrees]+s.Counts[record.Disagrees] > 0 {
		e.Verdict += fmt.Sprintf("; %d of the document's statements agree, %d disagree", s.Counts[record.Agrees],
			s.Counts[record.Disagrees])
	}
	if s.Status != record.Complete {
		e.Verdict += ", " + string(s.Status)
	}
	return e
}

// partsDone describes how many parts are done, and the outcome of the others.
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

// nameParts says of each record below a suite, study or drill that it belongs to it, and gives parts of suites the
// names that the suite has for them. Of records within each other the outermost one counts.
func nameParts(found map[string]seen) {
	for where, s := range found {
		for dir := where; dir != "."; {
			dir = path.Dir(dir)
			outer, ok := found[dir]
			part, below := belowOf(dir, where)
			if !ok || !below || !owns(outer.read.Kind, part) {
				continue
			}
			s.entry.Within = outer.entry.ID
			if name := outer.trials[part]; name != "" && outer.read.Kind == record.KindSuite {
				s.entry.Title, s.entry.What = name, s.entry.Title
			}
		}
		found[where] = s
	}
}

// owns says whether what is at a path below a record of a kind belongs to that record.
func owns(kind, part string) bool {
	top, _, _ := strings.Cut(part, "/")
	switch kind {
	case record.KindSuite:
		return true
	case record.KindStudy:
		return top == record.TrialsDir || top == record.ProceduresIn
	case record.KindDrill:
		return top == record.RoundsDir
	}
	return false
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
		return !below || !owns(list[at].Kind, part)
	})
}

var linksTemplate = template.Must(template.New("").Parse(`<nav aria-label="Parts"><p class="note">Records of the parts: ` +
	`{{range $i, $e := .Parts}}{{if $i}}, {{end}}` +
	`<a href="{{if .Live}}/live/{{else}}/record/{{end}}{{.ID}}">{{.Title}}</a>{{end}}` +
	`{{if .All}}{{if .Parts}}; {{end}}<a href="/?in={{.All}}">{{.Them}}</a>{{end}}</p></nav>`))

// partLinks lead from a suite to the records of its parts, and from a study or drill to its trials or rounds; nothing
// for other records.
func (s *Server) partLinks(e Entry) template.HTML {
	say := struct {
		Parts     []Entry
		All, Them string
	}{Them: map[string]string{record.KindSuite: "with their trials and rounds", record.KindStudy: "all trials",
		record.KindDrill: "all rounds"}[e.Kind]}
	if say.Them == "" {
		return ""
	}
	inside := Inside(s.library.list(), e.ID)
	for _, x := range inside {
		if part, ok := belowOf(e.Path, x.Path); ok && e.Kind == record.KindSuite && path.Dir(part) == record.PartsDir {
			say.Parts = append(say.Parts, x)
		}
	}
	if !s.o.Alone && len(inside) > 0 {
		say.All = e.ID
	}
	if len(say.Parts) == 0 && say.All == "" {
		return ""
	}
	slices.SortStableFunc(say.Parts, func(a, b Entry) int { return a.Started.Compare(b.Started) })
	return filled(linksTemplate, say)
}

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
	return filled(suiteTemplate, say)
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
