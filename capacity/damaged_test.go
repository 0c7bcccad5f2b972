package capacity

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/sizetest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Whatever somebody did to run.json, a size is refused or answered, and never with a negative number of anything.
func FuzzSizeOfDamagedRecord(f *testing.F) {
	whole := filepath.Join(f.TempDir(), "whole")
	if err := sizetest.WriteRun(whole, sizetest.Run{Rate: 1000, Records: 2_000_000,
		Durability: spec.Durability{Name: "durable"}, Target: mongod("1073741824")}); err != nil {
		f.Fatal(err)
	}
	run, err := os.ReadFile(filepath.Join(whole, record.RunFile))
	if err != nil {
		f.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range []string{record.IntervalsFile, record.LatencyFile} {
		if files[name], err = os.ReadFile(filepath.Join(whole, name)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(string(run))
	f.Add(`{"schema_version":"1.0","kind":"run","status":"complete","phases":[{"phase":"measure","rates":{"achieved":1e308,"offered":-1}}]}`)
	f.Add(`{"schema_version":"1.0","kind":"run","status":"complete","scheduled":true,"specification":{"workload":{"name":"b","records":9000000000000000}},` +
		`"target":{"topology":"replica set","hosts":["a","b"],"settings":{"wiredTiger cache bytes":"1e300"}},"phases":[{"phase":"measure","workers":-5,"rates":{"achieved":1e-300,"offered":1e-300}}]}`)
	n, err := ParseNeed("ops=50000,p99<1s,data=2TiB")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, record.RunFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, in := range []Input{{Need: &n, Sync: time.Millisecond},
			{Need: &Need{SizeNeed: record.SizeNeed{Data: 1 << 40, Free: 0.2}}, Prices: prices()}} {
			in.Records = []string{dir}
			s, err := Size(in)
			if err != nil {
				continue
			}
			if a := s.Answer; (a != nil) != (s.Verdict == record.SizeAnswered) ||
				a != nil && (a.Nodes < 1 || a.Shards < 1 || a.Memory < 0 || a.Disk < 0) {
				t.Errorf("verdict %s with answer %+v", s.Verdict, a)
			}
			if a := s.Answer; a == nil && len(s.Reasons) == 0 {
				t.Error("there is no answer and no reason")
			}
		}
	})
}
