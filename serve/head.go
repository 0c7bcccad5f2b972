package serve

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// read reads the head of a record, and of a study what its trials are called by their paths in it, of a suite its
// parts. A file that is damaged is listed as that.
func (f *Folder) read(name, file string) (Entry, map[string]string, error) {
	in, err := safeopen.OpenIn(f.root, name)
	if err != nil {
		return Entry{}, nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxHead))
	if err != nil {
		return Entry{}, nil, err
	}
	var e Entry
	var names map[string]string
	if err := contain.Panic("the document of "+name, func() (err error) { // a record may come from anybody
		e, names, err = entryOf(file, b, in)
		return err
	}); err != nil {
		return Entry{Kind: record.KindOf(file), Verdict: "damaged", Grade: report.Bad}, nil, nil
	}
	return e, names, nil
}

func entryOf(file string, b []byte, in *os.File) (Entry, map[string]string, error) {
	r, err := record.Decode(file, b)
	if err != nil {
		return Entry{}, nil, err
	}
	h := r.Common()
	e := Entry{Kind: h.Kind, Status: h.Status, Started: h.Started}
	switch r := r.(type) {
	case *record.Suite: // what its parts found is not read for a list
		return entryOfSuite(r), partNames(r), nil
	case *record.ComparisonReport:
		return entryOfComparison(r, in), nil, nil
	}
	d := report.Of(r)
	e.Title, e.Verdict, e.Grade = d.Title, d.Brief, d.Grade
	var names map[string]string
	switch r := r.(type) {
	case *record.Study:
		e.Title, e.Labels, e.Lab, names = r.Specification.Name, r.Specification.Labels, labOf(r.Specification.Run.Target),
			trialNames(r)
		e.loaded(r.Base.Target, r.Engine, r.Base.Workload)
	case *record.Drill:
		e.Labels, e.Lab = r.Specification.Labels, labOf(r.Specification.Run.Target)
		e.loaded(r.Specification.Run.Target, r.Engine, r.Specification.Run.Workload)
	case *record.Run:
		e.Labels, e.Lab = r.Specification.Labels, labOf(r.Specification.Target)
		e.loaded(cmp.Or(r.Specification.Target, r.Target.Address), "", r.Specification.Workload)
		e.Disclosure = cmp.Or(report.Disclosure(r.Target.Kind), e.Disclosure)
		if p := r.Phase("measure"); p != nil {
			e.Rate = figure.Rate(p.Rates.Achieved) + "/s"
			e.P99 = p99Of(p.All.Service)
			if r.Scheduled {
				e.P99 = p99Of(p.All.Response)
			}
		}
	case *record.Probe:
		if j := r.Journal; j != nil && j.Flush != nil {
			e.Rate, e.P99 = figure.Rate(j.Ceiling)+"/s", p99Of(j.Flush)
		}
	}
	return e, names, nil
}

// loaded notes what was loaded, and with what. The directory of an embedded store and the options of an address are
// left out, so that records of the same target have the same word.
func (e *Entry) loaded(target, engine string, w spec.Workload) {
	e.Disclosure, e.Workload = report.Disclosure(target), w.Name
	kind, _, _ := strings.Cut(target, ":")
	switch {
	case e.Disclosure != "":
		e.Target = kind
	case target == "":
		e.Target = engine // the lab of a study or drill is its own
	default:
		address := strings.TrimPrefix(strings.TrimPrefix(target, "mongodb://"), "mongodb+srv://")
		address, _, _ = strings.Cut(address, "?")
		e.Target = strings.TrimSuffix(address, "/")
	}
}

func p99Of(l *record.Latency) string {
	if text := report.PercentileText(l, 0.99); text != "-" {
		return text
	}
	return ""
}

// labOf is the name of the lab that a target means, "" if it is none.
func labOf(target string) string {
	if name, ok := spec.LabOf(target); ok {
		return name
	}
	return ""
}

func entryOfComparison(c *record.ComparisonReport, in *os.File) Entry {
	var names []string
	for _, s := range c.Sides {
		names = append(names, s.Name)
	}
	e := Entry{Kind: record.KindComparison, Title: strings.Join(names, " against "), Status: record.Complete}
	if info, err := in.Stat(); err == nil { // it says nothing of when it was made
		e.Started = info.ModTime()
	}
	return e
}

// trialNames returns the names of the trials of a study, by their records. While it runs its file is behind its trials,
// so each is also known by its future record.
func trialNames(s *record.Study) map[string]string {
	names := map[string]string{}
	for i := range s.Trials {
		t := &s.Trials[i]
		name := fmt.Sprintf("%s, trial %d", t.Configuration, t.Number)
		switch {
		case t.Kind == record.TrialSearch:
			name = fmt.Sprintf("%s, procedure %s", t.Configuration, path.Base(t.Record))
		case t.Kind == record.TrialCanary:
			name = fmt.Sprintf("%s, canary, trial %d", t.Configuration, t.Number)
		}
		if t.Kind != record.TrialSearch {
			names[path.Join(record.TrialsDir, fmt.Sprintf("%04d", t.Number))] = name
		}
		if t.Record != "" {
			names[path.Clean(t.Record)] = name
		}
	}
	return names
}

// nameTrials gives the records of trials the names that their studies have for them.
func nameTrials(found map[string]seen) {
	for where, s := range found {
		if s.entry.Kind != record.KindRun {
			continue
		}
		study := path.Dir(path.Dir(where)) // a trial is two steps below its study
		part := strings.TrimPrefix(where, study+"/")
		name := found[study].trials[part]
		if i := strings.LastIndexByte(part, '-'); name == "" && i > 0 { // an attempt that its file does not have yet
			name = found[study].trials[part[:i]]
		}
		if name != "" {
			s.entry.Title, s.entry.What = name, s.entry.Title
			found[where] = s
		}
	}
}
