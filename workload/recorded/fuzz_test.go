package recorded

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// FuzzLines reads arbitrary lines as a log and as captured commands, and makes a model of them.
func FuzzLines(f *testing.F) {
	for _, name := range []string{"mongod-4.4.log", "commands.jsonl"} {
		for line := range bytes.Lines(testFile(f, name)) {
			f.Add(line)
			f.Add(line[:len(line)*2/3])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range []Options{{Values: true}, {Typed: true, Names: HashedNames([]byte("k"))}} {
			describe(modelOf(t, o, ReadLog(bytes.NewReader(data))))
			describe(modelOf(t, o, ReadCommands(bytes.NewReader(data))))
		}
	})
}

// FuzzDocuments reads arbitrary BSON as entries of a profile and of $queryStats, and as sampled documents.
func FuzzDocuments(f *testing.F) {
	for line := range bytes.Lines(testFile(f, "profile-4.4.jsonl")) {
		var doc bson.Raw
		if err := bson.UnmarshalExtJSON(line, false, &doc); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := NewModel(Options{Values: true})
		for _, read := range []func(bson.Raw) (Operation, error){ReadProfile, ReadQueryStats} {
			op, err := read(data)
			if m.Skip(err) == nil && err == nil {
				m.Add(&op)
			}
		}
		d := Documents{}
		d.Add(data, m.First)
		d.At("a.b.0.c")
		describe(m)
	})
}

// TestGiantLine reads past a line that is longer than any command.
func TestGiantLine(t *testing.T) {
	lines := bytes.SplitAfter(testFile(t, "commands.jsonl"), []byte("\n"))
	r := io.MultiReader(bytes.NewReader(lines[0]), io.LimitReader(repeat('x'), maxLine+10), strings.NewReader("\n"),
		bytes.NewReader(lines[1]))
	m := modelOf(t, Options{}, ReadCommands(r))
	if got := fmt.Sprint(m.Operations, m.Skipped); got != "2 map[damaged or cut off:1]" {
		t.Errorf("got %s", got)
	}
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}
