package course

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
)

// The fast way and the general one read the same.
func TestScanReadsWhatIsWritten(t *testing.T) {
	dir, r := made(t, recordtest.Run{Warmup: 1, Seconds: 8, Rate: 300, Open: true, Median: time.Millisecond, Seed: 3, StallAt: 3})
	names := newReader(r)
	scanned := 0
	if _, err := record.EachLine(dir, func(l *record.IntervalLine) error {
		text, err := json.Marshal(l)
		if err != nil {
			return err
		}
		want, err := names.decode(text)
		if err != nil {
			return err
		}
		got, ok := names.scan(text)
		if !ok {
			t.Errorf("this is left to the slow way: %s", text)
		}
		scanned++
		if d := cmp.Diff(want, got, cmp.AllowUnexported(line{})); d != "" {
			t.Errorf("want -, got +:\n%s", d)
		}
		return nil
	}); err != nil || scanned != 9 {
		t.Fatalf("%d lines: %v", scanned, err)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(`{"phase":"measure","start_ns":1,"end_ns":2,"classes":[{"class":"read","outcomes":{"ok":3},"times":{"service":{"count":3,"min_ns":1,"max_ns":9}}}],"workers":4,"in_flight":1.5,"in_flight_samples":10,"client":{"cpu_ns":1}}`)
	f.Add(`{"phase":"a\"b"}`)
	f.Add(strings.Repeat(`{"a":[`, 100))
	f.Add(strings.Repeat("[", 1<<16))
	dims := recordtest.Run{}.Dims()
	names := newReader(&record.Run{Classes: dims.Classes, Outcomes: dims.Outcomes})
	f.Fuzz(func(t *testing.T, text string) {
		// What is not a line of a record is refused or read as something; it never ends the program.
		if l, ok := names.scan([]byte(text)); ok && l.logged > len(text) {
			t.Errorf("%q has %d histograms", text, l.logged)
		}
	})
}
