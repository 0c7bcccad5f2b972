package serve

import (
	"io"
	"os"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// read reads the head of a record, and the names of the records below it by their paths in it. A file that is damaged
// is listed as that.
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
		return Entry{Entry: report.Entry{Kind: record.KindOf(file), Verdict: "damaged", Grade: report.Bad}}, nil, nil
	}
	return e, names, nil
}

func entryOf(file string, b []byte, in *os.File) (Entry, map[string]string, error) {
	r, err := record.Decode(file, b)
	if err != nil {
		return Entry{}, nil, err
	}
	e := Entry{Started: r.Common().Started}
	var parts map[string]string
	e.Entry, parts = report.EntryOf(r)
	if info, err := in.Stat(); err == nil && e.Started.IsZero() { // it says nothing of when it was made
		e.Started = info.ModTime()
	}
	return e, parts, nil
}
