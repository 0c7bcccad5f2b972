package ycsb

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/ycsb/ycsbtext"
)

// settings are the parsed properties of the client. The workload parses its own.
type settings struct {
	load       bool
	threads    int
	operations int64         // of the whole client; 0 for no limit
	target     int64         // operations per second of all threads; 0 for no limit
	maxTime    time.Duration // 0 for no limit

	status      bool
	statusEvery time.Duration
	label       string

	text       ycsbtext.Options
	tracked    ycsbtext.Tracked
	exporter   string
	exportFile string
	rawFile    string
	hdrPrefix  string
	hdrLogs    bool

	batch      int64         // inserts per request
	retries    int64         // of a failed insert in the load phase
	retryPause time.Duration // before a retry
	keepGoing  bool          // a thread continues after an insert that failed after its retries

	client  string // "driver" or "wire"
	seed    uint64
	timeout time.Duration // of one operation
	out     string        // directory for a record; "" for none

	warnings []string // for standard error
}

func (s *settings) warn(format string, a ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, a...))
}

// settingsFrom parses the properties of the client for a `load` or a `run`.
func settingsFrom(p *properties, load bool, seed uint64) (*settings, error) {
	s := &settings{load: load}
	for _, read := range []func(*properties){
		s.readAmount, s.readStatus, s.readMeasurement, s.readExport, s.readInserts,
		func(p *properties) { s.readOwn(p, seed) },
	} {
		if read(p); p.first != nil {
			return nil, p.first
		}
	}
	s.warnIneffective(p)
	for _, m := range p.misspelled() {
		if p.yes("plimsoll.strict", false) {
			return nil, usage("%s (plimsoll.strict makes this an error)", m)
		}
		s.warn("%s", m)
	}
	return s, nil
}

// maxSeconds bounds times in seconds, so that sums of them in nanoseconds do not overflow.
const maxSeconds = 10 * 365 * 24 * 3600

func (p *properties) seconds(name string, otherwise, least int64) time.Duration {
	n := p.integer(name, otherwise, least)
	if n > maxSeconds {
		p.fail(name, fmt.Errorf("%d seconds are more than ten years", n))
	}
	return time.Duration(min(n, maxSeconds)) * time.Second
}

func (s *settings) readAmount(p *properties) {
	threads := p.integer("threadcount", 1, 1)
	if threads > 1<<20 {
		p.fail("threadcount", fmt.Errorf("%d is more than the limit of %d", threads, 1<<20))
	}
	s.operations = p.integer("operationcount", 0, 0)
	if s.load {
		s.operations = p.integer("recordcount", 0, 0)
		s.operations = p.integer("insertcount", s.operations, 0)
	}
	s.threads = int(threads)
	s.target = p.integer("target", 0, math.MinInt64)
	s.maxTime = p.seconds("maxexecutiontime", 0, math.MinInt32)
	s.target, s.maxTime = max(0, s.target), max(0, s.maxTime)
}

// pacePerThread is the rate of each thread in operations per second, 0 for no limit.
func (s *settings) pacePerThread() float64 { return float64(s.target) / float64(s.threads) }

// fewerThreads lowers the number of threads to the number of operations, like YCSB, and reports whether it did. Call
// pacePerThread before, because YCSB does not change the rate per thread then.
func (s *settings) fewerThreads() bool {
	if s.operations == 0 || int64(s.threads) <= s.operations {
		return false
	}
	s.threads = int(s.operations)
	return true
}

func (s *settings) readStatus(p *properties) {
	s.status = p.yes("status", false)
	s.statusEvery = p.seconds("status.interval", 10, 1)
	s.label = p.text("label", "")
}

func (s *settings) readMeasurement(p *properties) {
	var err error
	s.text.Type, err = ycsbtext.ParseType(p.text("measurementtype", "hdrhistogram"))
	p.fail("measurementtype", err)
	s.text.Interval, err = ycsbtext.ParseInterval(p.text("measurement.interval", "op"))
	p.fail("measurement.interval", err)
	if s.text.Type.NeedsPoints() && s.text.Interval != ycsbtext.Op {
		p.fail("measurement.interval", fmt.Errorf("measurementtype=%s counts single values from the send only: use op",
			p.text("measurementtype", "")))
	}
	s.text.Release017 = s.readVersion(p)
	s.text.Percentiles = s.percentiles(p, "hdrhistogram.percentiles", ycsbtext.DefaultPercentiles(s.text.Release017))
	s.text.SeriesValues = s.percentiles(p, "timeseries.percentiles", []float64{95, 99})
	s.text.Verbose = p.yes("measurement.histogram.verbose", false)
	s.text.Buckets = int(min(p.integer("histogram.buckets", 1000, 1), 10_000_000))
	s.text.Granularity = time.Duration(min(p.integer("timeseries.granularity", 1000, 1), 1e9)) * time.Millisecond
	s.text.RawSummary = !p.yes("measurement.raw.no_summary", false)
	s.rawFile = p.text("measurement.raw.output_file", "")
	s.tracked.Each = p.yes("reportlatencyforeacherror", false)
	if names := p.text("latencytrackederrors", ""); names != "" && !s.tracked.Each {
		s.tracked.Names = strings.Split(names, ",")
	}
}

func (s *settings) readVersion(p *properties) (release017 bool) {
	switch v := p.text("plimsoll.ycsb.version", "0.18"); v {
	case "0.17", "0.17.0":
		return true
	case "0.18", "0.18.0", "0.18.0-SNAPSHOT":
		return false
	default:
		p.fail("plimsoll.ycsb.version", fmt.Errorf("unknown release %q (known: 0.17, 0.18)", v))
		return false
	}
}

// percentiles reads a list. Like YCSB, it uses the default for an invalid list.
func (s *settings) percentiles(p *properties, name string, otherwise []float64) []float64 {
	text, ok := p.values[name]
	if !ok {
		return otherwise
	}
	ps, err := ycsbtext.ParsePercentiles(text)
	if err != nil {
		s.warn("%s: %v; using %s, as YCSB does", name, err, joinFloats(otherwise))
		return otherwise
	}
	return ps
}

func joinFloats(fs []float64) string {
	var parts []string
	for _, f := range fs {
		parts = append(parts, strconv.FormatFloat(f, 'f', -1, 64))
	}
	return strings.Join(parts, ",")
}

func (s *settings) readExport(p *properties) {
	s.exporter, s.exportFile = p.text("exporter", ""), p.text("exportfile", "")
	if _, err := ycsbtext.NewExporter(s.exporter, nil); err != nil {
		p.fail("exporter", fmt.Errorf("%w%s (known: %s)", err,
			nearest.DidYouMean(s.exporter, ycsbtext.ExporterNames()), strings.Join(ycsbtext.ExporterNames(), ", ")))
	}
	s.hdrLogs = p.yes("hdrhistogram.fileoutput", false)
	s.hdrPrefix = p.text("hdrhistogram.output.path", "")
	if s.hdrLogs && !s.status {
		s.warn("hdrhistogram.fileoutput without -s writes one interval for the whole run, as in YCSB; " +
			"add -s to write one per status line")
	}
}

func (s *settings) readInserts(p *properties) {
	s.retries = p.integer("core_workload_insertion_retry_limit", 0, 0)
	s.retryPause = p.seconds("core_workload_insertion_retry_interval", 3, 0)
	s.keepGoing = p.yes("core_workload_insertion_keep_going_on_error", false)
}

// readOwn reads the properties that YCSB does not have. seed is the default of plimsoll.seed.
func (s *settings) readOwn(p *properties, seed uint64) {
	s.client = p.text("plimsoll.client", "driver")
	if s.client != "driver" && s.client != "wire" {
		p.fail("plimsoll.client", fmt.Errorf("unknown client %q (known: driver, wire)", s.client))
	}
	s.out = p.text("plimsoll.out", "")
	s.seed = seed
	if text, ok := p.values["plimsoll.seed"]; ok {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("%q is not a whole number from 0 to 2⁶⁴−1", text)
		}
		p.fail("plimsoll.seed", err)
		s.seed = n
	}
	text := p.text("plimsoll.timeout", "60s")
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > time.Hour {
		err = fmt.Errorf("%q is not a time from 1ns to 1h, such as 10s", text)
	}
	p.fail("plimsoll.timeout", err)
	s.timeout = d
}

// warnIneffective warns of properties of YCSB that have no effect here.
func (s *settings) warnIneffective(p *properties) {
	for _, w := range []struct{ name, why string }{
		{"measurement.trackjvm", "there is no Java machine to track"},
		{"spin.sleep", "precise timers keep the pace, without spinning"},
	} {
		if p.yes(w.name, false) {
			s.warn("%s is ignored: %s", w.name, w.why)
		}
	}
	for name := range p.values {
		if strings.HasPrefix(name, "htrace.") {
			s.warn("htrace is not supported; its properties are ignored")
			break
		}
	}
}
