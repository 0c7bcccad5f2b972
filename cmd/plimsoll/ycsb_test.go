package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// ycsbCall is a finished `plimsoll ycsb`.
type ycsbCall struct {
	code           int
	stdout, stderr string
}

// callYCSB runs one command line, given as words separated by blanks.
func callYCSB(t *testing.T, line string) ycsbCall {
	t.Helper()
	return callYCSBWithSignals(t, line, make(chan os.Signal))
}

func callYCSBWithSignals(t *testing.T, line string, signals chan os.Signal) ycsbCall {
	t.Helper()
	env, stdout, stderr := engineEnvironment("", append([]string{"ycsb"}, strings.Fields(line)...)...)
	env.signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
	return ycsbCall{mainRun(context.Background(), env), stdout.String(), stderr.String()}
}

// value finds the value of a line "[METRIC], measurement, value"; "" if there is none.
func (c ycsbCall) value(metric, measurement string) string {
	m := regexp.MustCompile(`(?m)^\[` + regexp.QuoteMeta(metric) + `\], ` + regexp.QuoteMeta(measurement) +
		`, (.*)$`).FindStringSubmatch(c.stdout)
	if m == nil {
		return ""
	}
	return m[1]
}

func (c ycsbCall) number(t *testing.T, metric, measurement string) int64 {
	t.Helper()
	text := c.value(metric, measurement)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Errorf("[%s], %s: %v", metric, measurement, err)
	}
	return n
}

// want checks the exit code, and shows all output if it is another one.
func (c ycsbCall) want(t *testing.T, code int) ycsbCall {
	t.Helper()
	if c.code != code {
		t.Fatalf("exit %d, want %d\nstdout:\n%s\nstderr:\n%s", c.code, code, c.stdout, c.stderr)
	}
	return c
}

// says checks that standard error has a text.
func (c ycsbCall) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(c.stderr, text) {
			t.Errorf("%q is missing on standard error:\n%s", text, c.stderr)
		}
	}
}

// responder starts a server that answers everything with canned documents.
func responder(t *testing.T, opts null.Options) *null.Responder {
	t.Helper()
	r, err := null.Listen(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func embeddedArgs(t *testing.T) (dir, args string) {
	dir = filepath.Join(t.TempDir(), "db")
	return dir, " embedded -p embedded.dir=" + dir
}

// inEmbedded opens the directory that a call has left.
func inEmbedded(t *testing.T, dir string, use func(store.Store)) {
	t.Helper()
	st, err := embedded.Open(context.Background(), dir, store.Config{Concern: store.Concern{W: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	use(st)
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

func countEmbedded(t *testing.T, dir string) (n int64) {
	t.Helper()
	inEmbedded(t, dir, func(st store.Store) {
		var err error
		if n, err = st.Count(context.Background(), "usertable"); err != nil {
			t.Fatal(err)
		}
	})
	return n
}

// TestYCSBStockWorkloads loads and runs each of YCSB's workloads and checks that the books balance.
func TestYCSBStockWorkloads(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"a", "b", "c", "d", "e", "f"} {
		t.Run(letter, func(t *testing.T) {
			dir, target := embeddedArgs(t)
			file := " -P workloads/workload" + letter
			load := callYCSB(t, "load"+target+file+" -threads 3 -s").want(t, exitSuccess)
			if n := load.number(t, "INSERT", "Return=OK"); n != 1000 || countEmbedded(t, dir) != 1000 {
				t.Fatalf("%d inserts reported, %d records there, want 1000:\n%s", n, countEmbedded(t, dir), load.stdout)
			}
			if n := load.number(t, "CLEANUP", "Operations"); n != 3 {
				t.Errorf("%d sessions were closed, want 3", n)
			}
			run := callYCSB(t, "run"+target+file+" -threads 3 -s").want(t, exitSuccess)
			reads, updates, inserts := run.number(t, "READ", "Operations"), run.number(t, "UPDATE", "Operations"), run.number(t, "INSERT", "Operations")
			scans, rmws := run.number(t, "SCAN", "Operations"), run.number(t, "READ-MODIFY-WRITE", "Operations")
			if total := reads + updates + inserts + scans - rmws; total != 1000 {
				t.Errorf("%d operations, want 1000:\n%s", total, run.stdout)
			}
			if letter == "e" && run.number(t, "SCAN-LATENCY-PER-RECORD", "Operations") != scans {
				t.Errorf("times per scanned record are missing:\n%s", run.stdout)
			}
			if got := countEmbedded(t, dir); got != 1000+inserts {
				t.Errorf("%d records there after %d inserts into 1000", got, inserts)
			}
		})
	}
}

// TestYCSBRecords looks at a record as YCSB's readers would.
func TestYCSBRecords(t *testing.T) {
	t.Parallel()
	dir, target := embeddedArgs(t)
	callYCSB(t, "load"+target+" -P workloada -p recordcount=3 -p dataintegrity=true").want(t, exitSuccess)
	inEmbedded(t, dir, func(st store.Store) {
		s, err := st.Session(0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		filter, err := bson.Marshal(bson.D{{Key: "_id", Value: "user6284781860667377211"}})
		if err != nil {
			t.Fatal(err)
		}
		var res store.Result
		s.Do(time.Now().Add(time.Minute), &workload.Request{Verb: workload.Find, Collection: "usertable", Filter: filter,
			Limit: 1}, &res)
		want := "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:-1039977118:-10"
		if _, data, ok := bson.Raw(res.Doc).Lookup("field0").BinaryOK(); !ok || string(data) != want {
			t.Errorf("field0 of record 0 is %q, want %q (%s)", data, want, res.Message)
		}
	})
	run := callYCSB(t, "run"+target+" -P workloada -p recordcount=3 -p operationcount=200 -p dataintegrity=true").want(t, exitSuccess)
	if n := run.number(t, "VERIFY", "Return=OK"); n == 0 || n != run.number(t, "READ", "Operations") {
		t.Errorf("%d reads were verified:\n%s", n, run.stdout)
	}
}

// TestYCSBBatches loads a number of records that the batches do not divide.
func TestYCSBBatches(t *testing.T) {
	t.Parallel()
	for _, upsert := range []string{"false", "true"} {
		dir, target := embeddedArgs(t)
		c := callYCSB(t, "load"+target+" -P workloada -p recordcount=25 -p batchsize=10 -threads 2 -p mongodb.upsert="+upsert).want(t, exitSuccess)
		if n := countEmbedded(t, dir); n != 25 {
			t.Errorf("upsert=%s: %d records there, want 25", upsert, n)
		}
		if ops, ok := c.number(t, "INSERT", "Operations"), c.number(t, "INSERT", "Return=OK"); ops != 25 || ok != 4 ||
			c.number(t, "INSERT", "Return=BATCHED_OK") != 21 {
			t.Errorf("upsert=%s: want 25 operations, 4 of them sent:\n%s", upsert, c.stdout)
		}
		c.says(t, "short batches were sent too")
	}
}

// TestYCSBLoadTwice: YCSB ends each thread at the first duplicate, and exits 0.
func TestYCSBLoadTwice(t *testing.T) {
	t.Parallel()
	dir, target := embeddedArgs(t)
	line := "load" + target + " -P workloada -p recordcount=50 -threads 2"
	callYCSB(t, line).want(t, exitSuccess)
	again := callYCSB(t, line).want(t, exitFailure)
	if n := again.number(t, "INSERT", "Return=ERROR"); n != 2 {
		t.Errorf("%d failed inserts, want one per thread:\n%s", n, again.stdout)
	}
	if n := again.number(t, "INSERT-FAILED", "Operations"); n != 2 {
		t.Errorf("%d failed inserts are timed, want 2:\n%s", n, again.stdout)
	}
	again.says(t, "Error inserting, not retrying any more. number of attempts: 1Insertion Retry Limit: 0", "50 of 50 records are not loaded", "mongodb.upsert=true")

	on := callYCSB(t, line+" -p core_workload_insertion_keep_going_on_error=true").want(t, exitFailure)
	if n := on.number(t, "INSERT", "Return=ERROR"); n != 50 {
		t.Errorf("%d failed inserts, want 50:\n%s", n, on.stdout)
	}
	on.says(t, "further lines of this kind are not shown")
	callYCSB(t, line+" -p mongodb.upsert=true").want(t, exitSuccess)
	if n := countEmbedded(t, dir); n != 50 {
		t.Errorf("%d records there, want 50", n)
	}
}

// TestYCSBRetries fails the first insert of the load phase.
func TestYCSBRetries(t *testing.T) {
	t.Parallel()
	r := responder(t, null.Options{Fail: null.FailNth(null.Failure{Code: 11600, Name: "InterruptedAtShutdown", Message: "going down"}, 0)})
	line := "load mongodb -P workloada -p recordcount=20 -p plimsoll.client=wire -p mongodb.url=" + r.URI() +
		" -p core_workload_insertion_retry_interval=0 -p core_workload_insertion_retry_limit=1"
	c := callYCSB(t, line).want(t, exitSuccess)
	c.says(t, "Retrying insertion, retry count: 1")
	if ok, bad := c.number(t, "INSERT", "Return=OK"), c.number(t, "INSERT", "Return=ERROR"); ok != 20 || bad != 1 {
		t.Errorf("%d inserts succeeded and %d failed, want 20 and 1:\n%s", ok, bad, c.stdout)
	}
}

// TestYCSBClients runs against a server on TCP with both clients, with and without failures.
func TestYCSBClients(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"driver", "wire"} {
		t.Run(client, func(t *testing.T) {
			r := responder(t, null.Options{})
			line := "run mongodb -P workloada -p recordcount=100 -p operationcount=400 -threads 4 -p plimsoll.client=" + client + " -p mongodb.url="
			c := callYCSB(t, line+r.URI()).want(t, exitSuccess)
			if reads, updates := c.number(t, "READ", "Return=OK"), c.number(t, "UPDATE", "Return=OK"); reads+updates != 400 || reads == 0 || updates == 0 {
				t.Errorf("%d reads and %d updates, want 400:\n%s", reads, updates, c.stdout)
			}
			if !strings.Contains(c.stdout, "mongo client connection created with "+r.URI()) {
				t.Errorf("no word about the connection:\n%s", c.stdout)
			}

			failing := responder(t, null.Options{Fail: func(n uint64, _ string) *null.Failure {
				if n%10 == 5 {
					return &null.Failure{Code: 2, Name: "BadValue", Message: "as the test wants it"}
				}
				return nil
			}})
			c = callYCSB(t, line+failing.URI()).want(t, exitSuccess)
			bad := c.number(t, "READ", "Return=ERROR") + c.number(t, "UPDATE", "Return=ERROR")
			timed := c.number(t, "READ-FAILED", "Operations") + c.number(t, "UPDATE-FAILED", "Operations")
			if bad == 0 || bad != timed {
				t.Errorf("%d operations failed and %d failures are timed:\n%s", bad, timed, c.stdout)
			}
			c.says(t, "BadValue (2)", "Throughput counts them, as YCSB does")
			c = callYCSB(t, line+failing.URI()+" -p reportlatencyforeacherror=true").want(t, exitSuccess)
			if c.number(t, "READ-ERROR", "Operations")+c.number(t, "UPDATE-ERROR", "Operations") == 0 {
				t.Errorf("no series for each error:\n%s", c.stdout)
			}
		})
	}
}

func TestYCSBAllFailed(t *testing.T) {
	t.Parallel()
	r := responder(t, null.Options{Fail: func(_ uint64, command string) *null.Failure {
		if command != "update" {
			return nil
		}
		return &null.Failure{Code: 2, Name: "BadValue"}
	}})
	c := callYCSB(t, "run mongodb -P workloadc -p readproportion=0 -p updateproportion=1 -p operationcount=20 -p mongodb.url="+r.URI()).want(t, exitInvalid)
	c.says(t, "all operations failed")
	_, target := embeddedArgs(t)
	callYCSB(t, "run"+target+" -P workloadc").want(t, exitInvalid).says(t, "no record was found", "load the data set first")
}

func TestYCSBUnreachable(t *testing.T) {
	t.Parallel()
	r, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	addr := r.Addr()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{"driver", "wire"} {
		c := callYCSB(t, "run mongodb -P workloadc -p plimsoll.timeout=300ms -p plimsoll.client="+client+
			" -p mongodb.url=mongodb://someone:hunter2@"+addr+"/db").want(t, exitUnreachable)
		if strings.Contains(c.stdout+c.stderr, "hunter2") {
			t.Errorf("%s: the password is shown:\n%s%s", client, c.stdout, c.stderr)
		}
		c.says(t, addr)
	}
}

func TestYCSBUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"run mongodb -thread 4 -P workloada":                             "did you mean -threads? (YCSB prints its usage and exits 0 here",
		"run mongodb -P workloadx":                                       "workloadx",
		"run mongodb -P workloada -p requestdistribution=zipf":           "requestdistribution",
		"run mongodb -P workloada -p workload=site.ycsb.workloads.Mine":  "site.ycsb.workloads.CoreWorkload",
		"run mongodb -P workloada -p mongodb.url=localhost":              "mongodb.url is not a MongoDB address",
		"run embedded -P workloada":                                      "embedded.dir",
		"load mongodb -p workload=site.ycsb.workloads.CoreWorkload":      "recordcount",
		"load mongodb -P workloada -p insertstart=10 -p insertcount=995": "insertstart",
	} {
		callYCSB(t, line).want(t, exitUsage).says(t, want)
	}
	help := callYCSB(t, "--help").want(t, exitSuccess)
	if !strings.Contains(help.stdout, "-threads n") {
		t.Errorf("help: %q", help.stdout)
	}
}

// TestYCSBInterrupt stops an endless run by a signal once it is under way.
func TestYCSBInterrupt(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 2)
	r := responder(t, null.Options{Observe: func(n uint64, _, _ time.Time) {
		if n == 100 {
			signals <- os.Interrupt
		}
	}})
	c := callYCSBWithSignals(t, "run mongodb -P workloadc -p operationcount=0 -threads 2 -p mongodb.url="+r.URI(), signals).want(t, exitInterrupted)
	if c.number(t, "READ", "Return=OK") == 0 {
		t.Errorf("what was measured is missing:\n%s", c.stdout)
	}
}

func TestYCSBMaximumTime(t *testing.T) {
	t.Parallel()
	r := responder(t, null.Options{})
	c := callYCSB(t, "run mongodb -P workloadc -p operationcount=0 -p maxexecutiontime=1 -target 50 -threads 2 -s -p status.interval=1 -l exp7 -p mongodb.url="+r.URI()).want(t, exitSuccess)
	c.says(t, "Maximum execution time specified as: 1 secs", "Maximum time elapsed. Requesting stop for the workload.", "exp7")
	if n := c.number(t, "READ", "Operations"); n == 0 {
		t.Errorf("no reads:\n%s", c.stdout)
	}
}

func TestYCSBFewerThreads(t *testing.T) {
	t.Parallel()
	_, target := embeddedArgs(t)
	c := callYCSB(t, "load"+target+" -P workloada -p recordcount=3 -threads 10").want(t, exitSuccess)
	if !strings.Contains(c.stdout, "Warning: the threadcount is bigger than recordcount") || c.number(t, "CLEANUP", "Operations") != 3 {
		t.Errorf("want a warning and 3 threads:\n%s", c.stdout)
	}
}

// TestYCSBTypes runs with every measurement type and interval.
func TestYCSBTypes(t *testing.T) {
	t.Parallel()
	_, target := embeddedArgs(t)
	target += " -p recordcount=200 -p operationcount=200"
	callYCSB(t, "load"+target+" -P workloada").want(t, exitSuccess)
	raw := filepath.Join(t.TempDir(), "raw.txt")
	for args, want := range map[string]string{
		"measurementtype=histogram":                                                       `\[READ\], LatencyVariance\(us\), `,
		"measurementtype=hdrhistogram+histogram":                                          `\[BucketREAD\], 99thPercentileLatency\(us\), `,
		"measurementtype=timeseries -s":                                                   `(?m)^\[READ\], 0, [0-9.E-]+$`,
		"measurementtype=timeseries -p timeseries.granularity=100":                        `(?m)^\[READ\], 0, [0-9.E-]+$`,
		"measurementtype=raw":                                                             `(?m)^READ latency raw data: op, timestamp\(ms\), latency\(us\)\nREAD,\d+,\d+$`,
		"measurementtype=hdrhistogram+raw -p measurement.raw.output_file=" + raw:          `\[RawREAD\], p99.99, `,
		"measurement.interval=both":                                                       `\[Intended-READ\], Operations, `,
		"measurement.interval=intended":                                                   `\[READ\], Return=OK, `,
		"measurement.histogram.verbose=true":                                              `(?m)^\[READ\], \d+, \d+\.0$`,
		"hdrhistogram.percentiles=99.9,100":                                               `\[READ\], 99.9PercentileLatency\(us\), `,
		"exporter=site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter":          `(?s)^\[ \{\n  "metric" : "OVERALL".*\} \]$`,
		"exporter=com.yahoo.ycsb.measurements.exporter.JSONMeasurementsExporter":          `(?s)^\{\n  "metric" : "OVERALL".*\}$`,
		"plimsoll.ycsb.version=0.17 -s":                                                   `\[READ\], MaxLatency\(us\), \d+\n\[READ\], 95thPercentile`,
		"hdrhistogram.fileoutput=true -p hdrhistogram.output.path=" + t.TempDir() + "/h-": `\[READ\], Operations, `,
	} {
		c := callYCSB(t, "run"+target+" -P workloadf -p "+args).want(t, exitSuccess)
		if !regexp.MustCompile(want).MatchString(c.stdout) {
			t.Errorf("-p %s: nothing matches %s in:\n%s", args, want, c.stdout)
		}
	}
	points, err := os.ReadFile(raw)
	if err != nil || !strings.Contains(string(points), "RawREAD-MODIFY-WRITE,") {
		t.Errorf("single values of whole operations are missing: %v\n%.300s", err, points)
	}
}

func TestYCSBExportFile(t *testing.T) {
	t.Parallel()
	_, target := embeddedArgs(t)
	file := filepath.Join(t.TempDir(), "out.json")
	c := callYCSB(t, "load"+target+" -P workloada -p exporter=site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter -p exportfile="+file).want(t, exitSuccess)
	if strings.Contains(c.stdout, "OVERALL") {
		t.Errorf("the summary is on standard output too:\n%s", c.stdout)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var values []struct {
		Metric, Measurement string
		Value               any
	}
	if err := json.Unmarshal(data, &values); err != nil || len(values) < 10 || values[0].Metric != "OVERALL" {
		t.Errorf("%v\n%s", err, data)
	}
	callYCSB(t, "load"+target+" -P workloada -p exportfile="+filepath.Join(t.TempDir(), "no", "such", "dir")).want(t, exitFailure).says(t, "exportfile")
}

// TestYCSBStandardError checks the lines of YCSB that scripts wait for.
func TestYCSBStandardError(t *testing.T) {
	t.Parallel()
	_, target := embeddedArgs(t)
	c := callYCSB(t, "load"+target+" -P workloada -s -p db.password=hunter2").want(t, exitSuccess)
	c.says(t, "Command line: -db embedded -p embedded.dir=", "-P workloada -s -p db.password=*** -load\n",
		"YCSB Client 0.18.0-SNAPSHOT (plimsoll", "\n\nLoading workload...\nStarting test.\n",
		"DBWrapper: report latency for each error is false and specific error codes to track for latency are: []\n",
		" 0 sec: 0 operations; est completion in 0 second \n")
	last := regexp.MustCompile(`sec: 1000 operations; [\d.]+ current ops/sec; \[CLEANUP: Count=1, .*\] \[INSERT: Count=1000, Max=\d+, Min=\d+, Avg=[\d.]+, 50=\d+, 90=\d+, 99=\d+, 99.9=\d+, 99.99=\d+\] \n`)
	if !last.MatchString(c.stderr) {
		t.Errorf("no last status line:\n%s", c.stderr)
	}
}

// TestYCSBRecord keeps a record and reads it again.
func TestYCSBRecord(t *testing.T) {
	t.Parallel()
	_, target := embeddedArgs(t)
	callYCSB(t, "load"+target+" -P workloada").want(t, exitSuccess)
	dir := filepath.Join(t.TempDir(), "record")
	callYCSB(t, "run"+target+" -P workloada -p db.password=hunter2 -p plimsoll.out="+dir).want(t, exitSuccess).says(t, "plimsoll show "+dir)
	run, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if phase := run.Phase("measure"); phase == nil || phase.Counts.Succeeded != 1000 || run.Status != record.Complete {
		t.Errorf("status %s, phases %+v", run.Status, run.Phases)
	}
	text, err := os.ReadFile(filepath.Join(dir, record.RunFile))
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%v, or the password is in the record", err)
	}
	callYCSB(t, "run"+target+" -P workloada -p plimsoll.out="+dir).want(t, exitUsage).says(t, dir)
}
