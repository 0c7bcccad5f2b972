package own

import (
	"os"
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// FuzzFile opens arbitrary workload files. What compiles makes valid documents that are no larger than their templates
// say, and operations.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob("../../examples/workloads/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("name: x\ncollections: [{name: c, count: 3, document: {a: {$array: {of: {$array: {of: {$string: 9}, count: 1k}}, count: 1M}}}}]\noperations: [{find: c, weight: 1}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Open(workload.Spec{Text: text, Seed: 1, Clients: 1, Records: 1000})
		if err != nil {
			return
		}
		p := w.(*Plan)
		e, large := p.newEnv(0, 1), false
		for _, k := range p.collections {
			most := k.doc.most()
			if most > mostDocument {
				t.Fatalf("a document can have %d bytes", most)
			}
			if large = large || most > 1<<16; large || k.set.Loaded() == 0 {
				continue
			}
			doc := bson.Raw(k.append(nil, e, 0))
			if err := doc.Validate(); err != nil {
				t.Fatalf("a document of %s is not BSON: %v", k.name, err)
			}
			if int64(len(doc)) > most {
				t.Fatalf("a document of %s has %d bytes, and at most %d were expected", k.name, len(doc), most)
			}
		}
		if large {
			return // one input must not take long
		}
		for _, s := range p.Shares() {
			_ = s.Name
		}
		stream := p.Stream(0, 1)
		var op workload.Op
		for range 3 {
			stream.Next(&op)
			total := 0
			for _, r := range op.Requests {
				total += len(r.Docs)
			}
			if total > 2*mostBatch {
				t.Fatalf("%d documents in one operation", total)
			}
			stream.Done(&op, true)
		}
	})
}
