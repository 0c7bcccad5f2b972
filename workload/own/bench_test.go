package own

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// BenchmarkStream compares the built-in workload a with a file that describes the same.
func BenchmarkStream(b *testing.B) {
	text, err := os.ReadFile(filepath.Join("testdata", "as-a.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	for name, spec := range map[string]workload.Spec{
		"a": {Name: "a", Records: 100_000, Seed: 1}, "file": {Text: string(text), Seed: 1},
	} {
		b.Run(name, func(b *testing.B) {
			w, err := Open(spec)
			if err != nil {
				b.Fatal(err)
			}
			s := w.Stream(0, 1)
			var op workload.Op
			b.ReportAllocs()
			for b.Loop() {
				s.Next(&op)
				s.Done(&op, true)
			}
		})
	}
}
