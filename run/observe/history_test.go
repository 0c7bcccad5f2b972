package observe

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
	"github.com/plimsoll-bench/plimsoll/record"
)

// numbersIn counts the numbers of a value of this test.
func numbersIn(v any) (n int) {
	switch v := v.(type) {
	case bson.D:
		for _, e := range v {
			n += numbersIn(e.Value)
		}
	case string:
	default:
		n = 1
	}
	return n
}

// oneSample is a chunk of diagnostic data with one sample.
func oneSample(t *testing.T, d bson.D) []byte {
	t.Helper()
	doc, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	b := binary.LittleEndian.AppendUint32(doc, uint32(numbersIn(d)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	chunk, err := bson.Marshal(bson.D{{Key: "type", Value: int32(1)},
		{Key: "data", Value: bson.Binary{Data: append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))),
			z.Bytes()...)}}})
	if err != nil {
		t.Fatal(err)
	}
	return chunk
}

// second is what a server says after so many seconds of its life: 100 reads per second that take 20 ms, 15 of them
// while a page is read, and 300 per second in the second minute.
func second(at time.Time, up int64) bson.D {
	done := 100 * up
	if up > 60 {
		done += 200 * min(up-60, 60)
	}
	return bson.D{{Key: "start", Value: bson.NewDateTimeFromTime(at)}, {Key: "serverStatus", Value: bson.D{
		{Key: "host", Value: "db1:27017"}, {Key: "uptimeMillis", Value: up * 1000},
		{Key: "opcounters", Value: bson.D{{Key: "insert", Value: int64(0)}, {Key: "query", Value: done},
			{Key: "update", Value: int64(0)}, {Key: "delete", Value: int64(0)}}},
		{Key: "metrics", Value: bson.D{{Key: "commands", Value: bson.D{{Key: "find", Value: bson.D{{Key: "total",
			Value: done}}}}}}},
		{Key: "opLatencies", Value: bson.D{{Key: "reads", Value: bson.D{{Key: "latency", Value: 20_000 * done},
			{Key: "ops", Value: done}}}}},
		{Key: "wiredTiger", Value: bson.D{{Key: "cache", Value: bson.D{{Key: "maximum bytes configured",
			Value: int64(1000)},
			{Key: "bytes currently in the cache", Value: int64(900 + 80*min(1,
				up/100))}, {Key: "tracked dirty bytes in the cache", Value: int64(0)},
			{Key: "application threads page read from disk to cache time (usecs)", Value: 15_000 * done}}}}},
	}}}
}

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	var file []byte
	for up := int64(1); up <= 200; up++ {
		if up > 150 && up < 170 { // nothing was written
			continue
		}
		file = append(file, oneSample(t, second(testNow.Add(time.Duration(up)*time.Second), up))...)
	}
	for up := int64(1); up <= 5; up++ { // after a restart
		file = append(file, oneSample(t, second(testNow.Add(time.Duration(300+up)*time.Second), up))...)
	}
	if err := os.WriteFile(filepath.Join(dir, "metrics.2026-03-01T12-00-00Z-00000"), append(file, 9, 9),
		0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ReadHistory(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Server != "db1:27017" || d.Samples != 186 || d.Restarts != 1 || d.GapCount != 1 || d.Gaps[0].Seconds != 20 ||
		len(d.Damaged) != 1 {
		t.Errorf("%s, %d samples, %d restarts, gaps %v, damaged %v", d.Server, d.Samples, d.Restarts, d.Gaps, d.Damaged)
	}
	if math.Abs(d.PeakRate-300) > 10 || d.Rate < 120 || d.Rate > 200 {
		t.Errorf("mean %v/s, peak %v/s at %v", d.Rate, d.PeakRate, d.PeakAt)
	}
	if d.FullCache < 75 || d.FullCache > 85 || d.FlowControl != 0 || d.NoTicket != 0 {
		t.Errorf("full cache %v s, flow control %v s, no ticket %v s", d.FullCache, d.FlowControl, d.NoTicket)
	}
	for name, a := range map[string]*anatomy.Anatomy{"all": d.Anatomy, "peak": d.Peak} {
		if share := a.Share(anatomy.PageReads); math.Abs(share-0.75) > 0.01 ||
			math.Abs(a.Share(anatomy.Unexplained)-0.25) > 0.01 {
			t.Errorf("%s: %v of the time in page reads: %+v", name, share, a)
		}
	}
}

// moment is a sample of a server that has run some aggregations, and nothing else.
func moment(host string, at, up time.Duration, aggregated int64) bson.D {
	none := bson.D{{Key: "insert", Value: int64(0)}, {Key: "query", Value: int64(0)}, {Key: "update", Value: int64(0)},
		{Key: "delete", Value: int64(0)}}
	return bson.D{{Key: "start", Value: bson.NewDateTimeFromTime(testNow.Add(at))}, {Key: "serverStatus", Value: bson.D{
		{Key: "host", Value: host}, {Key: "uptimeMillis", Value: up.Milliseconds()}, {Key: "opcounters", Value: none},
		{Key: "metrics", Value: bson.D{{Key: "commands", Value: bson.D{{Key: "aggregate", Value: bson.D{{Key: "total",
			Value: aggregated}}}}}}}}}}
}

func historyOf(t *testing.T, samples ...bson.D) *record.Diagnosis {
	t.Helper()
	dir := t.TempDir()
	var file []byte
	for _, d := range samples {
		file = append(file, oneSample(t, d)...)
	}
	if err := os.WriteFile(filepath.Join(dir, "metrics.2026-03-01T12-00-00Z-00000"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ReadHistory(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The last hour is that of the last life, whatever the server was called before, and also if it is older now than it
// was at the first sample of the hour before.
func TestHistoryOfLives(t *testing.T) {
	for _, names := range [][2]string{{"db1:27017", "db1:27017"}, {"5d1f2c:27017", "77ab01:27017"}} {
		var samples []bson.D
		for s := range int64(1800) { // idle
			samples = append(samples, moment(names[0], time.Duration(s)*time.Second, time.Duration(s+1)*time.Second, 0))
		}
		for s := range int64(200) {
			samples = append(samples, moment(names[1], time.Duration(1810+s)*time.Second, time.Duration(s+1)*time.Second,
				100*s))
		}
		d := historyOf(t, samples...)
		if math.Abs(d.LastRate-100) > 5 || math.Abs(d.Kinds["aggregate"]-100) > 5 || d.LastHour > 200 || d.Restarts != 1 ||
			d.Server != names[1] || d.Samples != 2000 || len(d.Others) > 0 || (len(d.Names) == 1) != (names[0] != names[1]) {
			t.Errorf("%v: %v/s in %v s, %d restarts, %s, %d samples, %v, %v", names, d.LastRate, d.LastHour, d.Restarts,
				d.Server, d.Samples, d.Names, d.Others)
		}
		if math.Abs(d.PeakRate-100) > 5 || d.Rate < 5 || d.Rate > 15 {
			t.Errorf("%v: mean %v/s, peak %v/s", names, d.Rate, d.PeakRate)
		}
	}
}

// A clock that is set back makes no peak, and what comes after it is read.
func TestHistoryOfAClockThatIsSetBack(t *testing.T) {
	const back = 600
	var samples []bson.D
	for s := range int64(2000) {
		at := s
		if s >= 1000 {
			at -= back
		}
		samples = append(samples, moment("db1:27017", time.Duration(at)*time.Second+time.Duration(s/1000)*time.Millisecond,
			time.Duration(at+5000)*time.Second, 100*s))
	}
	d := historyOf(t, samples...)
	if math.Abs(d.PeakRate-100) > 5 || math.Abs(d.Rate-100) > 5 || math.Abs(d.LastRate-100) > 5 || d.SetBack != 1 ||
		d.Samples != 2000 || d.Restarts+d.GapCount != 0 {
		t.Errorf("mean %v/s, peak %v/s, last %v/s; clock set back %d times, %d samples, %d restarts, gaps %v", d.Rate, d.PeakRate,
			d.LastRate, d.SetBack, d.Samples, d.Restarts, d.Gaps)
	}
}

// Files of two servers in one directory: the samples of the second one are counted and left out. Those that the files
// have twice are left out.
func TestHistoryOfTwoServers(t *testing.T) {
	var samples []bson.D
	for s := range int64(100) {
		at := time.Duration(s) * time.Second
		samples = append(samples, moment("a:1", at, time.Hour+at, 10*s), moment("a:1", at, time.Hour+at, 10*s),
			moment("b:1", at+time.Millisecond, time.Minute+at, 1000*s))
	}
	d := historyOf(t, samples...)
	if d.Server != "a:1" || d.Samples != 100 || len(d.Others) != 1 || d.Others[0].Samples != 100 ||
		d.SetBack+d.Restarts != 0 || math.Abs(d.Rate-10) > 1 {
		t.Errorf("%s, %d samples, %v, clock set back %d times, %d restarts, %v/s", d.Server, d.Samples, d.Others, d.SetBack,
			d.Restarts, d.Rate)
	}
}

func TestHistoryOfNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "metrics.interim"), []byte("not diagnostic data"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadHistory(context.Background(), dir); err == nil || !strings.Contains(err.Error(), "no samples") {
		t.Errorf("%v", err)
	}
	if _, err := ReadHistory(context.Background(), filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing directory was read")
	}
}
