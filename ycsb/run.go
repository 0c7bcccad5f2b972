package ycsb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/ycsb/ycsbtext"
)

// execute does the call and prints YCSB's lines.
func (r *call) execute(ctx context.Context) error {
	release := "0.18.0-SNAPSHOT"
	if r.settings.text.Release017 {
		release = "0.17.0"
	}
	fmt.Fprintf(r.process.Stderr, "YCSB Client %s (plimsoll %s)\n\nLoading workload...\n", release, r.process.Tool.Version)
	core, err := workload.NewCore(r.params)
	if err != nil {
		return failed(Usage, err)
	}
	fmt.Fprintln(r.process.Stderr, "Starting test.")
	r.note("to repeat the same operations: -p plimsoll.seed=%d", r.settings.seed)
	pace := r.settings.pacePerThread()
	if r.settings.fewerThreads() {
		fmt.Fprintln(r.process.Stdout,
			"Warning: the threadcount is bigger than recordcount, the threadcount will be recordcount!")
	}
	ctx, abort, stop := r.process.Interrupts(ctx)
	defer stop()
	st, err := r.open(ctx)
	if err != nil {
		return r.unopened(ctx, err)
	}
	r.announce()
	err = r.measure(ctx, core, st, load.Config{
		Workers: r.settings.threads, Pace: pace, Seed: r.settings.seed, Timeout: r.settings.timeout, Abort: abort,
		Duration: r.settings.maxTime, Interval: r.interval(),
	})
	return errors.Join(err, st.Close())
}

// forever is longer than any run.
const forever = maxSeconds * time.Second

// interval is a second, or less for time series of a finer granularity.
func (r *call) interval() time.Duration {
	if r.settings.text.Type == ycsbtext.TimeSeries {
		return max(10*time.Millisecond, min(time.Second, r.settings.text.Granularity))
	}
	return time.Second
}

// open connects to the target, and prints a note if that takes long.
func (r *call) open(ctx context.Context) (st store.Store, err error) {
	run.TellIfSlow(func() {
		if r.url != nil {
			r.note("%s has not answered yet; retrying", store.Redact(r.url.url))
		}
	}, func() { st, err = r.connect(ctx) })
	return st, err
}

// connect opens the store. Like YCSB's binding, it uses one client of the driver for all threads.
func (r *call) connect(ctx context.Context) (store.Store, error) {
	cfg := store.Config{Sessions: r.settings.threads, Timeout: min(r.settings.timeout, 30*time.Second)}
	if r.url == nil {
		cfg.Database = "ycsb"
		cfg.Concern = r.embeddedConcern()
		return embedded.Open(ctx, r.props.values["embedded.dir"], cfg)
	}
	cfg.Target, cfg.Database = r.url.url, r.url.database
	if r.settings.client == "wire" {
		return wire.Open(ctx, cfg)
	}
	return mongo.Open(ctx, cfg, mongo.Options{WorkersPerClient: r.settings.threads})
}

// embeddedConcern is the durability of the old property mongodb.writeConcern.
func (r *call) embeddedConcern() store.Concern {
	o := oldWriteConcerns[strings.ToLower(r.props.values["mongodb.writeConcern"])]
	if o.name == "journal" {
		yes := true
		return store.Concern{W: "1", Journal: &yes}
	}
	if o.value == "" {
		o.value = "1"
	}
	return store.Concern{W: o.value}
}

func (r *call) unopened(ctx context.Context, err error) error {
	var wrong *store.AddressError
	switch {
	case errors.As(err, &wrong):
		return failed(Usage, err)
	case ctx.Err() != nil:
		return failed(Interrupted, errors.New("interrupted before the target was open"))
	case r.url == nil:
		return err
	}
	return failed(Unreachable, err)
}

// announce prints YCSB's lines at the start of its threads.
func (r *call) announce() {
	if r.url != nil {
		shown := store.Redact(r.url.url)
		fmt.Fprintln(r.process.Stdout, "mongo client connection created with "+shown)
		if shown != r.url.url {
			r.note("the password in that line is hidden; YCSB prints it")
		}
		for _, n := range r.url.notes {
			r.note("%s", n)
		}
	}
	names := "[" + strings.Join(r.settings.tracked.Names, ", ") + "]"
	fmt.Fprintf(r.process.Stderr, "DBWrapper: report latency for each error is %t and specific error codes "+
		"to track for latency are: %s\n", r.settings.tracked.Each, names)
	if r.settings.maxTime > 0 {
		fmt.Fprintf(r.process.Stderr, "Maximum execution time specified as: %d secs\n", r.settings.maxTime/time.Second)
	}
}

// measure runs the load and prints the result.
func (r *call) measure(ctx context.Context, core workload.Workload, st store.Store, cfg load.Config) error {
	start := r.process.Now()
	out, err := openOutput(ctx, r.settings, r.process.Stdout, start)
	if err != nil {
		return err
	}
	defer out.close()
	sink, err := r.newSink(ctx, st, load.Dims(core, cfg.Scheduled()), out)
	if err != nil {
		return err
	}
	w := newThreads(ctx, core, r.settings, sink.probes,
		limited(mostInsertLines, func(s string) { fmt.Fprintln(r.process.Stderr, s) }))
	if cfg.Duration == 0 {
		cfg.Duration = forever
	}
	before := readGC()
	report, err := load.Run(ctx, cfg, w, &probedStore{st, sink.probes}, sink)
	if rerr := sink.record.finish(&report, err); err == nil {
		err = rerr
	}
	switch {
	case err != nil && report.Interrupted:
		return failed(Interrupted, err)
	case err != nil:
		return err
	}
	gc := readGC()
	c := &conclusion{call: r, out: out, sink: sink, workload: w, report: report,
		gcs: gc.n - before.n, gcTime: gc.pause - before.pause}
	return c.conclude()
}

// newSink makes the sink of the results and prints the first status line.
func (r *call) newSink(ctx context.Context, st store.Store, dims measure.Dims, out *output) (*sink, error) {
	start := out.options.Start
	probes := newProbes(start, r.settings, r.params.DataIntegrity)
	k := newSink(r.settings, dims, ycsbtext.New(out.options), probes, start)
	k.notes, k.lines = r.note, []io.Writer{r.process.Stderr}
	if r.settings.text.Type == ycsbtext.TimeSeries {
		k.lines = append(k.lines, r.process.Stdout)
	}
	var err error
	if k.record, err = r.openRecord(ctx, st, dims); err != nil {
		return nil, err
	}
	if r.settings.status {
		return k, k.line(0)
	}
	return k, nil
}

// mostInsertLines is the number of lines about failed inserts that are printed.
const mostInsertLines = 20

// limited prints the first lines and then once that there are more. It is safe for concurrent use if print is.
func limited(most int64, print func(string)) func(string) {
	var n atomic.Int64
	return func(s string) {
		switch i := n.Add(1); {
		case i <= most:
			print(s)
		case i == most+1:
			print("plimsoll: further lines of this kind are not shown")
		}
	}
}

// gcCounts are the garbage collections of this process.
type gcCounts struct {
	n     int64
	pause time.Duration
}

func readGC() gcCounts {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return gcCounts{int64(s.NumGC), time.Duration(min(s.PauseTotalNs, math.MaxInt64))}
}
