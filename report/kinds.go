package report

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
)

// kinds are all kinds of results that are printed: records, a suite with its parts, and results that are no records. A
// new kind is a file with its own function, and a line here.
func kinds() []*kind {
	return []*kind{
		suiteKind(), studyKind(), drillKind(), probeKind(), comparisonKind(), capacityKind(), runKind(),
		probesKind(), predictionKind(), historyKind(), sizeKind(), gateKind(), backtestKind(), whatIfKind(), failuresKind(),
		doctorKind(), doctorsKind(), diagnosisKind(), planKind(), suitePlanKind(), progressKind(),
		labKind(), labsKind(), labEventsKind(), documentKind(),
	}
}

// kind is one kind of result: what it is called, and how it is read, worded, written for programs and listed.
type kind struct {
	what string // for errors
	// name is that of a kind of record, "" for results that are no records.
	name  string
	holds func(result any) bool
	// document words a result. files are what open has read, nil for a document without figures.
	document func(result, files any) *Document
	// loaded is what its figures were measured on, as [Disclosure] takes it; nil for results that say it of each figure.
	loaded func(result any) []string
	// value is what JSON has, nil if it is the result.
	value func(result any) any
	// csv and bench write tables for programs, nil if there are none.
	csv, bench func(io.Writer, any) error
	// open reads a record for a page. Without it, a page has the document and the command.
	open func(s *Source, path string) error
	// ready makes a record printable, nil if it is.
	ready func(dir string, r record.Result) any
	// list adds to an entry in a list of records what its document does not have, nil if that is enough.
	list func(result any, e *Entry)
	// told kinds have the answer behind the title in a list.
	told bool
	// parts are the names of the records below it, by their directories, nil if it has none.
	parts func(result any) map[string]string
	// now says what a record that is being written is at; seldom is true if that changes only with its files. A kind that
	// follows has intervals.
	now             func(dir string) (Now, error)
	seldom, follows bool
	// spark draws how a record went over time, nil if it has no course.
	spark func(dir string, lines *int) (Spark, error)
	// all says what is below it, for a link to them: "all trials". each has links to its parts besides.
	all  string
	each bool
}

// kindOf makes a kind from its type R, and the type F of the files that only its page needs.
func kindOf[R, F any](what string, document func(R, F) *Document) *kind {
	return &kind{
		what:  what,
		holds: func(result any) bool { _, ok := result.(R); return ok },
		document: func(result, files any) *Document {
			f, _ := files.(F)
			return document(result.(R), f)
		},
	}
}

// figureless is a document of a result without figures.
func figureless[R any](document func(R) *Document) func(R, *Source) *Document {
	return func(r R, _ *Source) *Document { return document(r) }
}

// typed makes a function of any result from that of a type.
func typed[R, T any](f func(R) T) func(any) T {
	return func(result any) T { return f(result.(R)) }
}

func table[R any](write func(io.Writer, R) error) func(io.Writer, any) error {
	return func(w io.Writer, result any) error { return write(w, result.(R)) }
}

func listed[R any](add func(R, *Entry)) func(any, *Entry) {
	return func(result any, e *Entry) { add(result.(R), e) }
}

func kindIn(result any) *kind {
	list := kinds()
	if i := slices.IndexFunc(list, func(k *kind) bool { return k.holds(result) }); i >= 0 {
		return list[i]
	}
	panic(fmt.Sprintf("there is a result that is not printed: %T", result))
}

// named is the kind of records of a name, one without anything of its own if there is none.
func named(name string) *kind {
	list := kinds()
	if i := slices.IndexFunc(list, func(k *kind) bool { return k.name == name && name != "" }); i >= 0 {
		return list[i]
	}
	return &kind{name: name}
}

// Of words a result: a record of any kind, a [Suite], a history, a size or what the doctor of hosts found.
func Of(result any) *Document { return kindIn(result).words(result, nil) }

// words is the document of a result, which says of what is not MongoDB that it is not.
func (k *kind) words(result, files any) *Document {
	d := k.document(result, files)
	if k.loaded != nil {
		d.disclose(k.loaded(result))
	}
	return d
}

// Value is the result as JSON.
func Value(result any) any {
	if k := kindIn(result); k.value != nil {
		return k.value(result)
	}
	return result
}

// Formats says what a result is, and in which forms it is printed; text and JSON are those of the command line.
func Formats(result any) (what string, formats []string) {
	k := kindIn(result)
	if k.csv != nil {
		formats = append(formats, "csv")
	}
	if k.bench != nil {
		formats = append(formats, "gobench")
	}
	return k.what, append(formats, "md", "text", "json")
}

// Write writes a result in one of its [Formats]: "md" for a pull request or a page of documentation, "csv" for a
// spreadsheet, "gobench" for benchstat.
func Write(w io.Writer, result any, format string) error {
	k := kindIn(result)
	switch {
	case format == "md":
		return k.words(result, nil).In("").Markdown(w)
	case format == "csv" && k.csv != nil:
		return k.csv(w, result)
	case format == "gobench" && k.bench != nil:
		return k.bench(w, result)
	}
	return fmt.Errorf("%s has no form %s", k.what, format)
}

// Concluder is what has a conclusion: records, and suites with their parts.
type Concluder interface{ Conclude() record.Conclusion }

// Ready makes the record in a directory printable. What its process could not do any more, such as the verdicts of a
// study that was killed, is done now.
func Ready(dir string, r record.Result) Concluder {
	if k := named(r.Common().Kind); k.ready != nil {
		if c, ok := k.ready(dir, r).(Concluder); ok {
			return c
		}
	}
	return r
}

// Read reads a record of any kind completely, and makes it printable: a directory, or a comparison in a file.
func Read(path string) (Concluder, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return comparisonAt(path)
	}
	r, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	return Ready(path, r), nil
}
