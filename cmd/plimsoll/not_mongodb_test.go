package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
)

// loadedTargets are targets of all kinds with the engine that studies and drills of them have, and the words beside
// their figures.
var loadedTargets = []struct {
	target        record.Target
	engine, words string
}{
	{record.Target{Address: "embedded:data", Kind: "embedded"}, "", "embedded, not MongoDB"},
	{record.Target{Address: "null:", Kind: "null"}, "", "null, not MongoDB, stores nothing"},
	{record.Target{Address: "null:tcp", Kind: "mongod"}, "", "null, not MongoDB, stores nothing"},
	{record.Target{Address: "mongodb://h/", Kind: "ferretdb", Version: "v2.7.0"}, "FerretDB v2.7.0", "FerretDB, not MongoDB"},
	{record.Target{Address: "lab:open", Kind: "ferretdb"}, "documentdb PostgreSQL 18.0, FerretDB 2.7.0", "FerretDB, not MongoDB"},
	{record.Target{Address: "mongodb://h/", Kind: "mongod", Settings: map[string]string{"gitVersion": "plimsoll-stand-in"}},
		"stand-in 8.0.12", "stand-in, not MongoDB"},
	{record.Target{Address: "http://h:1/", Kind: "REST service"}, "", "REST service, not MongoDB"},
	{record.Target{Address: "mongodb://h/", Kind: "mongod", Version: "8.0.4"}, "", ""},
	{record.Target{Address: "lab:three", Kind: "mongos"}, "Percona Server for MongoDB 8.0.4", ""},
}

// loads makes a result one of a target.
func loads(result any, target record.Target, engine string) {
	switch r := result.(type) {
	case *record.Run:
		r.Specification.Target, r.Target = target.Address, target
	case *record.Study:
		r.Base.Target, r.Specification.Run.Target, r.Engine = target.Address, target.Address, engine
	case *record.Drill:
		r.Specification.Run.Target, r.Engine = target.Address, engine
	case *record.Capacity:
		r.Specification.Run.Target, r.Target = target.Address, &target
	case *record.ComparisonReport:
		for i := range r.Sides {
			r.Sides[i].TargetKind = target.Software()
		}
	case *report.Suite:
		r.Record.Engine = engine
	case *record.Sizing:
		r.Workloads[0].Software = target.Software()
	}
}

// What is not MongoDB says so beside the title and the first figures, for each kind of result, on the terminal, in
// Markdown, on a page and in lists. What is MongoDB does not.
func TestWhatIsNotMongoDBSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	results := map[string]*report.Source{"size": {Result: &record.Sizing{Kind: record.KindSize, Verdict: record.SizeAnswered,
		Need:   &record.SizeNeed{Text: "ops=50000"},
		Answer: &record.SizeAnswer{Nodes: 9, Shards: 3, Copies: 3, Decides: "operations"}, Workloads: make([]record.SizeWorkload, 1)}}}
	for kind, dir := range aRecordOfEachKind(t) {
		s, err := report.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if kind != record.KindProbe { // which loads no database
			results[kind] = s
		}
	}
	for kind, s := range results {
		for _, x := range loadedTargets {
			loads(s.Result, x.target, x.engine)
			if kind == record.KindSuite && x.engine == "" {
				continue // whose parts say it
			}
			checkWords(t, kind+" of "+x.target.Address, s, x.words)
		}
	}
}

func checkWords(t *testing.T, what string, s *report.Source, words string) {
	t.Helper()
	d := s.Document()
	printed := map[string]string{"the title": d.Title}
	for _, tile := range d.Tiles {
		printed[tile.Name] = tile.Note
	}
	var text, markdown, page bytes.Buffer
	if err := writeDocument(&text, d, true); err != nil {
		t.Fatal(err)
	}
	if err := report.Write(&markdown, s.Result, "md"); err != nil {
		t.Fatal(err)
	}
	printed["the terminal"], printed["Markdown"] = plain(text.String()), plain(markdown.String())
	if s.Dir != "" {
		if err := html.Write(&page, []*report.Source{s}, report.PageOptions{}); err != nil {
			t.Fatal(err)
		}
		printed["the page"] = readable(page.Bytes())
	}
	if r, ok := s.Result.(record.Result); ok && r.Common().Kind != record.KindComparison {
		e, _ := report.EntryOf(r)
		printed["the list"] = e.Disclosure
	}
	for where, text := range printed {
		if words == "" && strings.Contains(text, "not MongoDB") {
			t.Errorf("%s, %s: %q is of MongoDB", what, where, text)
		}
		if !strings.Contains(text, words) {
			t.Errorf("%s, %s: %q does not say %q", what, where, text[:min(len(text), 300)], words)
		}
	}
}
