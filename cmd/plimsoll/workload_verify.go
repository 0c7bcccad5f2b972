package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/capture"
	"github.com/plimsoll-bench/plimsoll/workload/own"
	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

// What a verification does at most: it is a load on the deployment that was recorded.
const (
	verifyDocuments  = 20_000
	verifyBytes      = 64 << 20
	verifyOperations = 2_000
	verifyTime       = 5 * time.Second
	verifyPatience   = 10 * time.Second // for a command
	verifyPrefix     = "plimsoll_verify_"
)

// verification replays a workload file in a database of its own, on the deployment that was recorded.
type verification struct {
	*recording
	file      own.File // without change streams
	database  string
	documents int64 // of the load phase
	smaller   bool  // than the recorded data
	done      int
	step      string            // what is being done, in words that follow "no right to"
	left      bool              // the database could not be dropped
	refused   map[string]string // errors by operation
}

// verifyFile loads a sample into an empty database, replays the file for some seconds, compares what the operations
// found, and drops the database. A deployment where this is not possible is not verified, which is said.
func (r *recording) verifyFile(ctx context.Context, text []byte) {
	out := r.summaryOutput()
	file, err := own.Read(bytes.NewReader(text))
	if err != nil {
		fmt.Fprintf(out, "not verified: %v\n", err)
		return
	}
	if r.model.Typed {
		fmt.Fprintln(out, "not verified: $queryStats does not say what each operation found")
		return
	}
	v := &verification{recording: r, file: file, refused: map[string]string{}}
	v.file.Operations = nil
	for _, o := range file.Operations {
		if o.Watch == "" {
			o.ReadPreference = "" // the profiler is that of the primary
			v.file.Operations = append(v.file.Operations, o)
		}
	}
	if len(v.file.Operations) == 0 {
		fmt.Fprintln(out, "not verified: the file has change streams only")
		return
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	v.database = verifyPrefix + hex.EncodeToString(random[:])
	checks, err := v.replay(ctx)
	var refused mongo.CommandError
	const unauthorized = 13
	switch {
	case err == nil:
		v.print(checks)
	case v.left:
		fmt.Fprintf(out, "not verified: %s. Drop the database with: %s\n", v.oneLine(err), v.restoring())
	case ctx.Err() != nil:
		fmt.Fprintln(out, "not verified: interrupted. The database for it is dropped")
	case errors.As(err, &refused) && refused.Code == unauthorized:
		fmt.Fprintf(out, "not verified: the user has no right to %s. What was recorded is complete\n", v.step)
	default:
		fmt.Fprintf(out, "not verified: %s\n", v.oneLine(err))
	}
}

func (v *verification) oneLine(err error) string { return store.OneLine(store.Redact(err.Error())) }

// restoring is the command that drops what a verification left.
func (v *verification) restoring() string {
	cmd := "plimsoll workload record " + shellword.Quote(store.Redact(v.address)) + " --restore"
	if v.recordFlags.database != "" {
		cmd += " --database " + shellword.Quote(v.recordFlags.database)
	}
	return cmd
}

// plan compiles the file for as many documents as a verification loads.
func (v *verification) plan() (*own.Plan, error) {
	asked := workload.Spec{Seed: 1, Clients: 1}
	plan, err := own.Compile(v.file, asked)
	if err != nil {
		return nil, err
	}
	size := int64(0)
	for _, c := range plan.Contents() {
		size += c.Documents * c.MeanSize
	}
	all := plan.Records()
	limit := min(all, verifyDocuments)
	if size > verifyBytes {
		limit = min(limit, max(1, int64(float64(all)*float64(verifyBytes)/float64(size))))
	}
	if v.smaller = limit < all; v.smaller {
		asked.Records = limit
		plan, err = own.Compile(v.file, asked)
	}
	if err == nil {
		v.documents = plan.Records()
	}
	return plan, err
}

// replay does the work. What it made is written down before, and removed at the end.
func (v *verification) replay(ctx context.Context) (checks []recorded.Check, err error) {
	plan, err := v.plan()
	if err != nil {
		return nil, err
	}
	target, err := run.ParseTarget(v.address)
	if err != nil {
		return nil, err
	}
	if named := plan.Databases(); len(named) > 0 {
		return nil, fmt.Errorf("%s names the database %s", named[0].Class, named[0].Database)
	}
	if router, err := v.db.Router(ctx); err != nil {
		return nil, err
	} else if router {
		return nil, errors.New("a mongos has no profiler, which shows what operations find")
	}
	if _, err := dropLeft(ctx, v.env, v.summaryOutput(), v.address, v.db); err != nil {
		return nil, err
	}
	db, err := capture.Open(ctx, v.address, v.database)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	// Nothing is there yet. A user who may not drop the database must not make it.
	v.step = "drop a new database"
	if err := db.Drop(ctx); err != nil {
		return nil, err
	}
	v.announce()
	forget, err := noteDatabase(v.env, v.address, v.db.Name, v.database)
	if err != nil {
		return nil, err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyPatience)
		defer cancel()
		if dropErr := db.Drop(ending); dropErr != nil {
			v.left = true
			err = fmt.Errorf("the database %s could not be dropped: %w", v.database, dropErr)
			return
		}
		forget()
	}()
	v.step = "use the profiler of a new database"
	state, err := v.profile(ctx, db)
	if err != nil {
		return nil, err
	}
	v.step = "write to a new database"
	config := store.Config{Database: v.database, Sessions: 1, Timeout: verifyPatience}
	st, err := target.Open(ctx, run.ClientDriver, config, nil)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if err := v.load(ctx, st, plan); err != nil {
		return nil, err
	}
	return v.measure(ctx, st, db, plan, state)
}

// announce says what is written and where, before it is.
func (v *verification) announce() {
	fmt.Fprintf(v.env.stderr, "verifying in the new database %s: %s documents, then up to %s operations in %v. The database is dropped "+
		"at the end. --verify=false leaves this out. If this process is killed, drop the database with: %s\n", v.database,
		figure.Count(v.documents), figure.Count(v.most()), verifyTime, v.restoring())
}

// most is how many operations are replayed. More than were recorded would change what the first ones had changed.
func (v *verification) most() int64 {
	return min(verifyOperations, max(v.model.Databases()[v.db.Name], int64(len(v.file.Operations))))
}

// profile makes the profile of the new database, and returns the state of the profiler.
func (v *verification) profile(ctx context.Context, db *capture.Database) (capture.Profiling, error) {
	state, err := db.QueryProfiling(ctx)
	if err != nil {
		return state, err
	}
	state.Level, state.Filter = 0, "" // slowms and sampleRate are those of the whole server
	return state, db.SetProfiling(ctx, state, true)
}

// load makes the collections and their documents.
func (v *verification) load(ctx context.Context, st store.Store, plan *own.Plan) error {
	if err := store.Create(ctx, st.(server.Commander), v.database, plan.Creations()); err != nil {
		return err
	}
	if err := st.EnsureIndexes(ctx, plan.Indexes()); err != nil {
		return err
	}
	session, err := st.Session(0)
	if err != nil {
		return err
	}
	defer session.Close()
	var op workload.Op
	var res store.Result
	loader := plan.Loader()
	const batch = 500
	for seq := int64(0); seq < v.documents && ctx.Err() == nil; seq += batch {
		loader.Load(seq, int(min(batch, v.documents-seq)), &op)
		for i := range op.Requests {
			session.Do(time.Now().Add(verifyPatience), &op.Requests[i], &res)
			if res.Outcome != store.OK {
				return fmt.Errorf("documents of %s were refused: %s", op.Requests[i].Collection, res.Message)
			}
		}
	}
	return ctx.Err()
}

// measure replays with the profiler on, in the recorded mix, and compares the profile with what was recorded.
func (v *verification) measure(ctx context.Context, st store.Store, db *capture.Database, plan *own.Plan,
	off capture.Profiling) ([]recorded.Check, error) {
	on := off
	on.Level = 2
	if err := db.SetProfiling(ctx, on, false); err != nil {
		return nil, err
	}
	v.operate(ctx, st, plan)
	if err := db.SetProfiling(ctx, off, false); err != nil {
		return nil, err
	}
	model := recorded.NewModel(v.model.Options)
	var profiles recorded.Profiles
	_, err := db.Profile(ctx, time.Time{}, false, func(doc bson.Raw) {
		profiles.Read(doc, func(op *recorded.Operation, err error) {
			if err == nil {
				model.Add(op)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return recorded.Verify(v.model, v.db.Name, model, v.database, v.smaller), nil
}

// operate sends operations, each as often as its weight says and evenly among the others.
func (v *verification) operate(ctx context.Context, st store.Store, plan *own.Plan) {
	session, err := st.Session(0)
	if err != nil {
		return
	}
	defer session.Close()
	shares := plan.Shares()
	due := make([]float64, len(shares))
	stream, choose := plan.Chosen(0, 1)
	end := time.Now().Add(verifyTime)
	var op workload.Op
	var res store.Result
	for v.done = 0; int64(v.done) < v.most() && ctx.Err() == nil && time.Now().Before(end); v.done++ {
		next := 0
		for i, s := range shares {
			if due[i] += s.Share; due[i] > due[next] {
				next = i
			}
		}
		due[next]--
		choose(next)
		stream.Next(&op)
		applied := true
		for i := range op.Requests {
			session.Do(time.Now().Add(verifyPatience), &op.Requests[i], &res)
			if res.Outcome != store.OK && res.Outcome != store.NotFound && res.Outcome != store.NotApplied {
				v.refused[shares[next].Name] = res.Message
				applied = false
			}
			if stream.Listens(&op, i) {
				stream.Answer(&op, i, res.Doc)
			}
		}
		stream.Done(&op, applied)
	}
}

// print says whether the file does what was recorded, and what differs.
func (v *verification) print(checks []recorded.Check) {
	out := v.summaryOutput()
	differing, unknown := 0, 0
	for _, c := range checks {
		if len(c.Differs) > 0 {
			differing++
		}
		if c.Recorded.Known == 0 || c.Replayed.Known == 0 {
			unknown++
		}
	}
	where := fmt.Sprintf("%s operations on %s documents in a new database", figure.Count(int64(v.done)), figure.Count(v.documents))
	if v.smaller {
		where += ". It has fewer documents than recorded, so only weights, empty results and plans are compared"
	}
	switch {
	case differing == 0 && len(v.refused) == 0 && unknown > 0:
		fmt.Fprintf(out, "verified in part: weights are within 10 %% of what was recorded, but the source does not say what %d of %s found (%s)\n",
			unknown, figure.Plural(len(checks), "kind"), where)
	case differing == 0 && len(v.refused) == 0:
		fmt.Fprintf(out, "verified: weights, results and plans are within 10 %% of what was recorded (%s)\n", where)
	default:
		fmt.Fprintf(out, "verified: %d of %s differ by more than 10 %% (%s)\n", differing, figure.Plural(len(checks), "kind"), where)
	}
	for name, message := range v.refused {
		fmt.Fprintf(out, "  %s is refused: %s\n", name, message)
	}
	for _, c := range checks {
		if len(c.Differs) > 0 {
			fmt.Fprintf(out, "  %s\n    %s\n", c.Shape, strings.Join(c.Differs, "; "))
		}
	}
	v.table(checks)
}

// table prints what each kind found, recorded and replayed.
func (v *verification) table(checks []recorded.Check) {
	fmt.Fprintln(v.summaryOutput(), "  recorded/replayed, of each operation:")
	t := table{left: 1}
	t.row("share", "found", "empty", "modified", "read", "plan", "operation")
	for _, c := range checks {
		a, b := c.Recorded, c.Replayed
		pair := func(x, y float64) string { return fmt.Sprintf("%.3g/%.3g", x, y) }
		plan := a.Plan
		if a.Plan != b.Plan {
			plan += "/" + b.Plan
		}
		t.row(figure.Percent(a.Share)+"/"+figure.Percent(b.Share), pair(a.Docs, b.Docs), pair(a.Empty, b.Empty),
			pair(a.Modified, b.Modified), pair(a.Examined, b.Examined), plan, c.Shape)
	}
	t.write(v.summaryOutput(), "  ")
}
