//go:build !race

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
)

// ycsbFiles are the workloads A to F as YCSB property files: shares of operations and distribution, in addition to
// common properties.
var ycsbFiles = map[string]string{
	"a": "readproportion=0.5\nupdateproportion=0.5\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n",
	"b": "readproportion=0.95\nupdateproportion=0.05\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n",
	"c": "readproportion=1\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n",
	"d": "readproportion=0.95\nupdateproportion=0\nscanproportion=0\ninsertproportion=0.05\nrequestdistribution=latest\n",
	"e": "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\nrequestdistribution=zipfian\n" +
		"maxscanlength=100\nscanlengthdistribution=uniform\n",
	"f": "readproportion=0.5\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\nreadmodifywriteproportion=0.5\n" +
		"requestdistribution=zipfian\n",
}

func writeYCSBFile(t *testing.T, letter string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "workload"+letter)
	text := fmt.Sprintf("# a workload in a file\nworkload=site.ycsb.workloads.CoreWorkload\nrecordcount=%d\noperationcount=%d\nreadallfields=true\n\n%s",
		records, operations, ycsbFiles[letter])
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// summary is the final output of YCSB, by series and measurement.
type summary map[string]map[string]float64

var (
	summaryLine = regexp.MustCompile(`^\[([A-Z0-9_%-]+|TOTAL_GCs)\], ([^,]+), (-?[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?)$`)
	statusLine  = regexp.MustCompile(`(?m)^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{12} [0-9]+ sec: ([0-9]+) operations; `)
)

// parseSummary parses the summary like a script. Other lines are errors.
func parseSummary(t *testing.T, e ended) summary {
	t.Helper()
	if !strings.HasSuffix(e.stdout, "\n") {
		t.Errorf("the last line has no end:\n%s", e.stdout)
	}
	s := summary{}
	for line := range strings.Lines(e.stdout) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "mongo client connection created with ") {
			continue
		}
		m := summaryLine.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("a line that is not YCSB's: %q", line)
			continue
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Error(err)
		}
		if s[m[1]] == nil {
			s[m[1]] = map[string]float64{}
		}
		s[m[1]][m[2]] = value
	}
	return s
}

// ok returns the number of successes, which must be that of all operations.
func (s summary) ok(t *testing.T, series string) int {
	t.Helper()
	m := s[series]
	if m == nil {
		return 0
	}
	if m["Operations"] != m["Return=OK"] {
		t.Errorf("[%s] has %v operations, %v of them ok", series, m["Operations"], m["Return=OK"])
	}
	for _, figure := range []string{"AverageLatency(us)", "MinLatency(us)", "MaxLatency(us)", "95thPercentileLatency(us)", "99thPercentileLatency(us)"} {
		if m[figure] <= 0 {
			t.Errorf("[%s] has %v of %s", series, m[figure], figure)
		}
	}
	return int(m["Return=OK"])
}

// overall checks the first lines of a summary.
func (s summary) overall(t *testing.T, operations int) {
	t.Helper()
	o := s["OVERALL"]
	if rate := float64(operations) / o["RunTime(ms)"] * 1000; rate < o["Throughput(ops/sec)"]*0.99 || rate > o["Throughput(ops/sec)"]*1.01 {
		t.Errorf("[OVERALL] %v does not fit %d operations", o, operations)
	}
}

// TestYCSB loads and runs workloads A to F with YCSB's command line.
func TestYCSB(t *testing.T) {
	inTurn(t, 60)
	forEachServer(t, func(t *testing.T, s *server) {
		for _, letter := range []string{"a", "b", "c", "d", "e", "f"} {
			same := loadedByRun(t, s, letter)
			for _, client := range clients {
				t.Run(letter+" "+client, func(t *testing.T) { testYCSB(t, s, letter, client, same) })
			}
		}
	})
}

// testYCSB loads and runs a workload with a client; same is the same workload of `plimsoll run`.
func testYCSB(t *testing.T, s *server, letter, client string, same []bson.Raw) {
	db := newDatabase("ycsb", letter)
	address, err := mongouri.Parse(s.uri)
	if err != nil {
		t.Fatal(err)
	}
	address.Path = db
	args := []string{"mongodb", "-P", writeYCSBFile(t, letter), "-p", "mongodb.url=" + address.String(), "-threads", "4", "-s",
		"-p", "plimsoll.client=" + client, "-p", "plimsoll.seed=7", "-p", "plimsoll.strict=true"}
	e := plimsoll(t, append([]string{"ycsb", "load"}, args...)...).must(t, 0)
	load := parseSummary(t, e)
	load.overall(t, records)
	checkStatusLine(t, e, records)
	loaded := s.dump(t, db, "usertable")
	if n := load.ok(t, "INSERT"); n != records || len(loaded) != n {
		t.Errorf("%d inserts are said to be ok, %d documents are there, %d were wanted", n, len(loaded), records)
	}
	checkYCSBKeys(t, loaded)
	originalShape().check(t, loaded)
	sameDocuments(t, loaded, same, "ycsb load and run --workload ycsb-"+letter)

	e = plimsoll(t, append([]string{"ycsb", "run"}, args...)...).must(t, 0)
	run := parseSummary(t, e)
	run.overall(t, operations)
	checkStatusLine(t, e, operations)
	inserts := run.ok(t, "INSERT")
	// A read-modify-write is measured in total and as a read and an update.
	done := run.ok(t, "READ") + run.ok(t, "UPDATE") + run.ok(t, "SCAN") + inserts - run.rmw(t)
	if done != operations {
		t.Errorf("%d operations of %d are said to be ok", done, operations)
	}
	docs := s.dump(t, db, "usertable")
	if len(docs) != records+inserts {
		t.Errorf("%d documents after %d more inserts", len(docs), inserts)
	}
	checkYCSBKeys(t, docs)
	originalShape().check(t, docs)
}

// rmw returns the number of read-modify-writes, for which YCSB prints no return codes.
func (s summary) rmw(t *testing.T) int {
	t.Helper()
	n := int(s["READ-MODIFY-WRITE"]["Operations"])
	if updates := int(s["UPDATE"]["Operations"]); n > 0 && n != updates {
		t.Errorf("%d read-modify-writes with %d updates", n, updates)
	}
	return n
}

// checkStatusLine checks that the last status line counts all operations.
func checkStatusLine(t *testing.T, e ended, operations int) {
	t.Helper()
	all := statusLine.FindAllStringSubmatch(e.stderr, -1)
	if len(all) == 0 || all[len(all)-1][1] != strconv.Itoa(operations) {
		t.Errorf("the last of %d status lines does not have %d operations:\n%s", len(all), operations, e.stderr)
	}
}

// loadedByRun returns the documents that `plimsoll run` loads for the same workload.
func loadedByRun(t *testing.T, s *server, letter string) []bson.Raw {
	t.Helper()
	db := newDatabase("run", letter)
	plimsoll(t, "run", s.uri, "--database", db, "--workload", "ycsb-"+letter, "--records", strconv.Itoa(records), "--seed", "7",
		"--load", "only", "--quiet").must(t, 0)
	return s.dump(t, db, "usertable")
}

// checkYCSBKeys checks that the keys are those of YCSB for the records 0, 1, 2, …
func checkYCSBKeys(t *testing.T, docs []bson.Raw) {
	t.Helper()
	want := map[string]bool{}
	for n := range docs {
		want["user"+strconv.FormatInt(ycsbHash(int64(n)), 10)] = true
	}
	for _, doc := range docs {
		if id := doc.Lookup("_id").StringValue(); !want[id] {
			t.Errorf("%s is none of the keys of the first %d records", id, len(docs))
			return
		}
	}
}

// ycsbHash is YCSB's 64-bit FNV hash over the bytes of n, lowest first, made positive.
func ycsbHash(n int64) int64 {
	h := uint64(0xCBF29CE484222325)
	for range 8 {
		h = (h ^ uint64(n&0xff)) * 1099511628211
		n >>= 8
	}
	return max(int64(h), -int64(h))
}
