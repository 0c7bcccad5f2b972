package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/scratch"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload/capture"
	"github.com/plimsoll-bench/plimsoll/workload/own"
	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

// recordFlags are the flags of 'plimsoll workload record'.
type recordFlags struct {
	from, database, profile, out, recording, name string
	length                                        time.Duration
	sample                                        int
	values, hashNames, restore, verify            bool
}

func newWorkloadRecordCommand(env *environment) *cobra.Command {
	f := &recordFlags{}
	cmd := &cobra.Command{
		Use:   "record [mongodb://HOST/DATABASE] -o FILE",
		Short: "Write the workload of a running deployment to a file",
		Long: `Write the workload of a running deployment to a file: the shapes of its operations with their weights, and the
shapes and indexes of its documents. The file lists what could not be seen.

Operations come from one of these sources:

  profiler       system.profile of the database: all its operations, or those of the time --for
  querystats     $queryStats (MongoDB 8.0, Atlas from 7.0): reads only, and no times
  log:FILE       the log of a mongod or mongos, with its slow queries, or an export of system.profile as JSON;
                 - for standard input. Prefixes of syslog, Docker and Kubernetes, gzip and zstd are recognized
  commands:FILE  commands that you captured, one JSON document on each line:
                 {"time": "2026-03-01T10:00:00.250Z", "db": "shop", "command": {"find": "orders", …}}

Documents come from a sample ($sample), from which no values are kept. The profiler is changed only with --profile;
it is restored at the end. After a crash, --restore restores it. Ctrl-C ends a recording early, and the files have
what was recorded until then.

With an address, the file is then verified. A database with a random name gets up to 20,000 documents. One connection
replays the operations there for up to 5 seconds. Their results and plans are compared with the recording, and the
database is dropped. --verify=false leaves this out.

Values are not kept: the file has types, lengths, numbers of digits and of different values instead. With --values, it
has frequent values, and the recording has whole commands.`,
		Example: `  plimsoll workload record mongodb://db1/shop --profile all --for 10m -o shop.yaml
  plimsoll workload record --from log:mongod.log --recording shop.recording -o shop.yaml`,
		Args: atMostOne("address"),
		RunE: func(cmd *cobra.Command, args []string) error {
			address := ""
			if len(args) == 1 {
				address = args[0]
			}
			if f.restore {
				return restoreProfiler(cmd.Context(), env, address, f)
			}
			return recordWorkload(cmd.Context(), env, address, f)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.out, "output", "o", "", "`file` of the workload, - for standard output")
	fs.StringVar(&f.from, "from", "profiler", "`source`: profiler, querystats, log:FILE or commands:FILE")
	fs.DurationVar(&f.length, "for", 0, "record so long; without it, use what the source has")
	fs.StringVar(&f.database, "database", "", "`name` of the database (default that of the address or, of a file, the one with most operations)")
	fs.StringVar(&f.profile, "profile", "", "set the profiler during the recording: `all`, or slowms=N")
	fs.IntVar(&f.sample, "sample", 1000, "`number` of documents to sample from each collection")
	fs.BoolVar(&f.values, "values", false, "keep frequent values, and whole commands in the recording")
	fs.BoolVar(&f.hashNames, "hash-names", false, "replace names of fields by keyed hashes; the key is not kept")
	fs.StringVar(&f.recording, "recording", "", "`file` that keeps the times of all operations, for 'plimsoll run --replay'; - for standard output")
	fs.StringVar(&f.name, "name", "", "`name` of the workload (default that of the database)")
	fs.BoolVar(&f.verify, "verify", true, "with an address, replay the file in a new database of the deployment, compare the results, and drop it")
	fs.BoolVar(&f.restore, "restore", false, "restore the profiler that a killed recording left changed, and end")
	return cmd
}

// recording is one call of 'plimsoll workload record'.
type recording struct {
	*recordFlags
	env      *environment
	address  string
	db       *capture.Database // nil without an address
	model    *recorded.Model
	recorder *recorded.Recorder              // nil without --recording
	begun    map[string]*recorded.Collection // as they were before --for
	source   recorded.Source
}

func recordWorkload(ctx context.Context, env *environment, address string, f *recordFlags) error {
	ctx, stop := interruptible(ctx, env)
	defer stop()
	r := &recording{recordFlags: f, env: env, address: address}
	if err := r.check(); err != nil {
		return err
	}
	options := recorded.Options{Values: f.values, Typed: f.from == "querystats"}
	if f.hashNames {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		options.Names = recorded.HashedNames(key)
	}
	r.model = recorded.NewModel(options)
	if address != "" {
		db, err := openDatabase(ctx, env, address, f.database)
		if err != nil {
			return err
		}
		defer db.Close()
		r.db = db
	}
	keep, remove, err := r.openRecording()
	if err != nil {
		return err
	}
	defer remove()
	if err := r.read(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil && len(r.model.Databases()) == 0 {
		return withExit(exitInterrupted, errors.New("interrupted; nothing was recorded"))
	}
	// The first interrupt ends the recording, and another one the output, such as a pipe that nobody reads.
	writing, stopWriting := interruptible(context.WithoutCancel(ctx), env)
	defer stopWriting()
	switch err := r.write(writing, keep); {
	case writing.Err() != nil:
		return withExit(exitInterrupted, cmp.Or(err, errSilent))
	case err != nil || ctx.Err() == nil:
		return err
	}
	return withExit(exitInterrupted, errSilent)
}

// check checks the flags.
func (r *recording) check() error {
	source, file, _ := strings.Cut(r.from, ":")
	switch source {
	case "profiler", "querystats":
		if r.address == "" {
			return usageError("--from %s needs the address of a deployment", source)
		}
		if source == "querystats" && r.recording != "" {
			return usageError("$queryStats has no times of operations. Use --recording with another source")
		}
	case "log", "commands":
		if file == "" {
			return usageError("write --from %s:FILE, with the file to read", source)
		}
		if r.length != 0 || r.profile != "" {
			return usageError("--for and --profile are for the profiler, not for files")
		}
	default:
		return usageError("unknown source %q (known: profiler, querystats, log:FILE, commands:FILE)", r.from)
	}
	switch {
	case r.out == "-" && r.recording == "-":
		return usageError("-o and --recording are both standard output. Name a file for one of them")
	case r.out == "":
		return usageError("name the file to write: -o shop.yaml")
	case r.profile != "" && (source != "profiler" || r.length == 0):
		return usageError("--profile needs --from profiler and --for, the time for which the profiler is changed")
	case r.sample < 1 || r.sample > 1_000_000:
		return usageError("--sample is %d: it must be from 1 to 1000000", r.sample)
	case r.length < 0:
		return usageError("--for is negative")
	}
	return nil
}

// openDatabase connects to the database of an address.
func openDatabase(ctx context.Context, env *environment, address, database string) (*capture.Database, error) {
	parsed, err := mongouri.Parse(address)
	if err != nil {
		return nil, usageError("cannot use the address: %v", err)
	}
	if database = cmp.Or(database, parsed.Database()); database == "" {
		return nil, usageError("the address names no database. Write mongodb://HOST/DATABASE, or use --database")
	}
	if err := noteOptions(env, address); err != nil {
		return nil, err
	}
	db, err := capture.Open(ctx, address, database)
	if err != nil {
		return nil, withExit(exitUnreachable, fmt.Errorf("cannot connect to %s: %s. Check host, port, user and password",
			store.Redact(address), store.OneLine(err.Error())))
	}
	return db, nil
}

// noteOptions says which options of an address have no effect. One that nobody documents is an error.
func noteOptions(env *environment, address string) error {
	parsed, err := mongouri.Parse(address)
	if err != nil {
		return nil // the address is refused later, in the words of its reader
	}
	_, notes, err := parsed.Known()
	if err != nil {
		return usageError("cannot use the address %s: %v", store.Redact(address), err)
	}
	for _, n := range notes {
		fmt.Fprintf(env.stderr, "plimsoll: %s\n", visible.Line(n))
	}
	return nil
}

// add counts an operation, and puts it into the recording.
func (r *recording) add(op *recorded.Operation, err error) error {
	if err != nil {
		r.model.AddEnd(op)
		return r.model.Skip(op, err)
	}
	if r.db != nil && op.Database != r.db.Name {
		return nil
	}
	r.model.Add(op)
	if r.recorder != nil {
		return r.recorder.Add(op)
	}
	return nil
}

// read reads the source.
func (r *recording) read(ctx context.Context) error {
	source, file, _ := strings.Cut(r.from, ":")
	r.source.From = store.Redact(r.address)
	switch source {
	case "profiler":
		r.source.Sources = []string{"profiler"}
		return r.readProfiler(ctx)
	case "querystats":
		r.source.Sources = []string{"queryStats"}
		return r.readQueryStats(ctx)
	}
	r.source.From = cmp.Or(r.source.From, filepath.Base(file))
	if err := r.readFile(ctx, file); err != nil {
		return err
	}
	if ctx.Err() != nil { // a pipe has more, and what was recorded until now is written
		return nil
	}
	if fastest := r.model.Fastest; source == "log" && fastest >= time.Millisecond {
		r.source.Unseen = append(r.source.Unseen, fmt.Sprintf("The fastest operation in the log took %v. Faster ones were "+
			"probably below slowms, so they are missing.", fastest))
	}
	return nil
}

// readFile reads the operations of a file.
func (r *recording) readFile(ctx context.Context, file string) error {
	in := io.NopCloser(safeopen.Interruptible(ctx, r.env.stdin))
	if file != "-" {
		opened, err := safeopen.OpenInput(ctx, file, safeopen.MaxStream)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return usageError("cannot read %s: %v", file, err)
		}
		in = opened
	}
	defer in.Close()
	text, err := safeopen.Decompressed(in)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return usageError("cannot read %s: %v", file, err)
	}
	defer text.Close()
	for op, err := range recorded.Read(text) {
		if ctx.Err() != nil {
			break
		}
		if err := r.add(&op, err); err != nil && ctx.Err() == nil {
			return fmt.Errorf("cannot read %s: %w", file, err)
		}
	}
	r.source.Sources = r.model.Forms()
	return nil
}

// readQueryStats reads the statistics, with --for those of that time only.
func (r *recording) readQueryStats(ctx context.Context) error {
	before := map[string]int64{}
	began := time.Now()
	if r.length > 0 {
		entries, err := r.db.QueryStats(ctx)
		if err != nil {
			return err
		}
		for _, e := range entries {
			before[e.Lookup("keyHash").String()], _ = e.Lookup("metrics", "execCount").AsInt64OK()
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	entries, err := r.db.QueryStats(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		op, err := recorded.ReadQueryStats(e)
		if op.Count -= before[e.Lookup("keyHash").String()]; err == nil && op.Count <= 0 {
			continue
		}
		if err == nil && op.Time.Before(began) && !op.Time.IsZero() && r.length == 0 {
			began = op.Time
		}
		if err := r.add(&op, err); err != nil {
			return err
		}
	}
	r.source.Period = time.Since(began)
	r.source.Unseen = append(r.source.Unseen, "$queryStats has reads only: no inserts, updates and deletes.")
	return nil
}

// wait waits for the time of the recording.
func (r *recording) wait(ctx context.Context) error {
	fmt.Fprintf(r.env.stderr, "recording for %v\n", r.length)
	if wait.Sleep(ctx, r.length) != nil {
		return ctx.Err()
	}
	return nil
}

// openRecording makes the file that keeps the operations until the header of the recording is known.
func (r *recording) openRecording() (*os.File, func(), error) {
	if r.recording == "" {
		return nil, func() {}, nil
	}
	parent := "" // where there is room for the recording
	if info, err := os.Stat(r.recording); err != nil || info.Mode().IsRegular() {
		parent = filepath.Dir(r.recording)
	}
	dir, err := scratch.Make(parent, ".plimsoll-recording-", nil)
	if err != nil {
		return nil, nil, usageError("cannot write %s: %v", r.recording, err)
	}
	remove := func() { _ = os.RemoveAll(dir) }
	file, err := os.CreateTemp(dir, "operations-*")
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("cannot keep the operations of the recording: %w", err)
	}
	database := ""
	if r.db != nil {
		database = r.db.Name
	}
	r.recorder, err = recorded.NewRecorder(r.model, cmp.Or(r.database, database), file)
	return file, func() { _ = file.Close(); remove() }, err
}

// write writes the workload and the recording.
func (r *recording) write(ctx context.Context, keep *os.File) error {
	databases := r.model.Databases()
	if r.db != nil {
		r.source.Database = r.db.Name
	} else if r.source.Database = r.database; r.source.Database == "" {
		for name, n := range databases {
			if n > databases[r.source.Database] {
				r.source.Database = name
			}
		}
	}
	if databases[r.source.Database] == 0 {
		return r.nothing()
	}
	if r.db != nil {
		list, err := r.collections(ctx)
		if err != nil {
			return err
		}
		r.source.Collections, r.source.Sources = list, append(r.source.Sources, "sample", "indexStats")
	}
	r.source.Name = cmp.Or(r.name, r.source.Database)
	file, operations, err := r.model.File(r.source)
	if err != nil {
		return err
	}
	text, err := recorded.Text(file)
	if err != nil {
		return err
	}
	if err := writeOutput(ctx, r.env, r.out, 0o644, func(w io.Writer) error {
		_, err := direct(w).Write(text)
		return err
	}); err != nil {
		return fmt.Errorf("cannot write %s: %w", r.out, err)
	}
	if err := r.finish(ctx, keep, file, operations); err != nil {
		return fmt.Errorf("cannot write %s: %w", r.recording, err)
	}
	r.summary(file)
	if r.verify && r.db != nil && ctx.Err() == nil {
		r.verifyFile(ctx, text)
	}
	return nil
}

// collections describes the collections as they were when the first operation began: with --for they were sampled then.
// Otherwise the documents that were inserted since are not among them.
func (r *recording) collections(ctx context.Context) ([]*recorded.Collection, error) {
	list, err := r.db.Collections(ctx, r.sample, r.model.Options)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		inserted := r.model.InsertedCount(r.db.Name, c.Name)
		before := c.Count - inserted + r.model.RemovedCount(r.db.Name, c.Name)
		if inserted > 0 && inserted < c.Count && c.Options.Lookup("timeseries").Type == 0 {
			if err := r.db.Newest(ctx, c, int(min(inserted, int64(r.sample))), r.sample); err != nil {
				c.Unseen = append(c.Unseen, fmt.Sprintf("The newest documents of %s could not be read: %v.", c.Name, err))
			}
		}
		switch b := r.begun[c.Name]; {
		case b != nil && b.Documents.N > 0:
			c.Documents, c.Count = b.Documents, b.Count
		case before > 0 && c.New != nil:
			c.Count = before
		}
	}
	return list, nil
}

// finish writes the recording: its header and the operations behind it.
func (r *recording) finish(ctx context.Context, keep *os.File, file own.File, operations map[string]int) error {
	if keep == nil {
		return nil
	}
	return writeOutput(ctx, r.env, r.recording, 0o600, func(w io.Writer) error { // it may have values
		out := direct(w)
		if _, err := r.recorder.Finish(out, file, operations); err != nil {
			return err
		}
		if _, err := keep.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(out, keep)
		return err
	})
}

// nothing is the error of a recording without operations.
func (r *recording) nothing() error {
	if source, file, _ := strings.Cut(r.from, ":"); source == "log" || source == "commands" {
		return fmt.Errorf("no operation of a collection was seen in %s: %s", file, r.model.Nothing(r.source.Database))
	}
	return fmt.Errorf("no operation of a collection was seen in %s. Start the load first. --profile all --for 1m records all "+
		"operations for a minute", r.source.Database)
}

// summaryOutput is standard output, unless a file is written to it.
func (r *recording) summaryOutput() io.Writer {
	if isStdout(r.env, r.out) || r.recording != "" && isStdout(r.env, r.recording) {
		return r.env.stderr
	}
	return r.env.stdout
}

// summary prints what was written.
func (r *recording) summary(file own.File) {
	out := r.summaryOutput()
	fmt.Fprintf(out, "%s operations of %d kinds on %s in %v (%s/s)\n", figure.Count(r.model.Databases()[r.source.Database]),
		len(file.Operations), figure.Plural(len(file.Collections), "collection"), file.Recorded.Period,
		figure.Rate(float64(file.Recorded.Rate)))
	for _, u := range file.Recorded.Unseen {
		fmt.Fprintf(out, "  not seen: %s\n", visible.Line(u))
	}
	fmt.Fprintf(out, "wrote %s", r.out)
	if r.recording != "" {
		fmt.Fprintf(out, " and %s", r.recording)
	}
	fmt.Fprintln(out)
	nextStep(out, "plimsoll workload check "+shellword.Quote(r.out), "")
}

// parseProfile reads the value of --profile.
func parseProfile(text string, before capture.Profiling) (capture.Profiling, error) {
	p := before
	p.Filter, p.Made = "", false
	if text == "all" {
		p.Level = 2
		return p, nil
	}
	millis, err := strconv.ParseInt(strings.TrimPrefix(text, "slowms="), 10, 64)
	if err != nil || millis < 0 || !strings.HasPrefix(text, "slowms=") {
		return p, usageError("--profile is %q: write all, or slowms=20", text)
	}
	p.Level, p.SlowMillis, p.SampleRate = 1, millis, 1
	return p, nil
}
