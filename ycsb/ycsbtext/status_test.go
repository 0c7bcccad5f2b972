package ycsbtext

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRemaining(t *testing.T) {
	for _, c := range []struct {
		seconds int64
		want    string
	}{
		{0, "0 second "},
		{1, "1 second "},
		{9, "9 second "},
		{10, "10 seconds "},
		{59, "59 seconds "},
		{60, "1 minute "},
		{119, "1 minute "},
		{120, "2 minutes "},
		{3600, "1 hour "},
		{3661, "1 hour 1 minute "},
		{86400, "1 day "},
		{90000, "1 day 1 hour "},
		{93661, "1 day 2 hours "},
		{math.MaxInt64, "106751991167300 days 15 hours "},
	} {
		if got := remaining(c.seconds); got != c.want {
			t.Errorf("Remaining(%d) = %q, want %q", c.seconds, got, c.want)
		}
	}
}

func TestStatusLine(t *testing.T) {
	now := time.Date(2017, 5, 20, 18, 55, 34, 606e6, time.UTC)
	s := NewStatus("", 1000000)
	for _, c := range []struct {
		at   time.Duration
		ops  int64
		want string
	}{
		{0, 0, "2017-05-20 18:55:34:606 0 sec: 0 operations; est completion in 0 second "},
		{10001 * time.Millisecond, 376385, "2017-05-20 18:55:44:607 10 sec: 376385 operations; 37634.74 current ops/sec; est completion in 17 seconds "},
		{20001 * time.Millisecond, 376385, "2017-05-20 18:55:54:607 20 sec: 376385 operations; 0 current ops/sec; est completion in 34 seconds "},
		{26050 * time.Millisecond, 1000000, "2017-05-20 18:56:00:656 26 sec: 1000000 operations; 103093.9 current ops/sec; "},
	} {
		if got := s.Line(now.Add(c.at), c.at, c.ops, ""); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestStatusLineBeforeFirstOperation(t *testing.T) {
	s := NewStatus("run 7 ", 100)
	got := s.Line(time.Date(2020, 1, 2, 3, 4, 5, 6e6, time.UTC), 10*time.Second, 0, "")
	want := "run 7 2020-01-02 03:04:05:006 10 sec: 0 operations; est completion in 106751991167300 days 15 hours "
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestExistingParsers reads our output with expressions of the kind that scripts for YCSB are made of.
func TestExistingParsers(t *testing.T) {
	status, summary := summarise(t, Options{}, Tracked{}, "")

	current := regexp.MustCompile(`(\d+) sec: (\d+) operations; ([\d.]+) current ops/sec`)
	if got := current.FindAllStringSubmatch(status, -1); len(got) != 2 || got[0][3] != "345" || got[1][2] != "457" {
		t.Errorf("rate of the status lines: %q", got)
	}
	blocks := regexp.MustCompile(`\[([A-Z-]+): Count=(\d+), Max=(\d+), Min=(\d+), Avg=([\d.]+|\x{fffd}), 50=(\d+), 90=(\d+), 99=(\d+), 99\.9=(\d+), 99\.99=(\d+)\]`)
	if got := len(blocks.FindAllString(status, -1)); got != 11 {
		t.Errorf("found %d blocks of latencies in the status lines, want 11:\n%s", got, status)
	}

	// awk -F', ' '$1 == "[READ]" && $2 == "99thPercentileLatency(us)" { print $3 }'
	values := map[string]string{}
	for _, line := range strings.Split(strings.TrimSuffix(summary, "\n"), "\n") {
		fields := strings.Split(line, ", ")
		if len(fields) != 3 {
			t.Errorf("%d fields in %q, want 3", len(fields), line)
			continue
		}
		values[fields[0]+fields[1]] = fields[2]
	}
	for key, want := range map[string]string{
		"[OVERALL]Throughput(ops/sec)":    "194.88272921108742",
		"[READ]99thPercentileLatency(us)": "132991",
		"[READ]Return=OK":                 "305",
		"[INSERT]Return=BATCHED_OK":       "30",
	} {
		if values[key] != want {
			t.Errorf("%s is %q, want %q", key, values[key], want)
		}
	}
}
