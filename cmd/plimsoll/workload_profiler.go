package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload/capture"
	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

// profilerFile is where the state of a profiler is until it is restored.
func profilerFile(env *environment, address, database string) (string, error) {
	home, err := homeDir(env)
	if err != nil {
		return "", err
	}
	parsed, err := mongouri.Parse(address)
	if err != nil {
		return "", usageError("cannot use the address: %v", err)
	}
	sum := sha256.Sum256([]byte(parsed.Hosts + "/" + database))
	return filepath.Join(home, "profilers", hex.EncodeToString(sum[:8])+".json"), nil
}

// changedProfiler is the content of the file.
type changedProfiler struct {
	Address  string            `json:"address"` // without credentials
	Database string            `json:"database"`
	Before   capture.Profiling `json:"before"`
}

// restoreProfiler restores the profiler that a killed recording left changed.
func restoreProfiler(ctx context.Context, env *environment, address string, f *recordFlags) error {
	if address == "" {
		return usageError("--restore needs the address of the deployment")
	}
	db, err := openDatabase(ctx, env, address, f.database)
	if err != nil {
		return err
	}
	defer db.Close()
	restored, err := restoreLeft(ctx, env, env.stdout, address, db)
	if err != nil {
		return err
	}
	dropped, err := dropLeft(ctx, env, env.stdout, address, db)
	if err == nil && !restored && dropped == 0 {
		fmt.Fprintf(env.stdout, "no recording left the profiler of %s changed, or a database\n", db.Name)
	}
	return err
}

// restoreLeft restores a profiler whose state is in a file.
func restoreLeft(ctx context.Context, env *environment, out io.Writer, address string,
	db *capture.Database) (bool, error) {
	name, err := profilerFile(env, address, db.Name)
	if err != nil {
		return false, err
	}
	text, err := safeopen.ReadPath(name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var left changedProfiler
	if err == nil {
		err = json.Unmarshal(text, &left)
	}
	if err != nil {
		return false, fmt.Errorf("cannot read the state of the profiler of %s: %w", db.Name, err)
	}
	if err := db.Restore(ctx, left.Before); err != nil {
		return false, fmt.Errorf("cannot restore the profiler of %s: %s. In a shell: %s", db.Name,
			store.OneLine(err.Error()), left.Before)
	}
	fmt.Fprintf(out, "restored the profiler of %s: %s\n", db.Name, left.Before)
	return true, os.Remove(name)
}

// changeProfiler sets the profiler, and returns a function that restores it.
func (r *recording) changeProfiler(ctx context.Context) (restore func() error, err error) {
	if _, err := restoreLeft(ctx, r.env, r.summaryOutput(), r.address, r.db); err != nil {
		return nil, err
	}
	before, err := r.db.Plan(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := parseProfile(r.profile, before)
	if err != nil {
		return nil, err
	}
	name, err := profilerFile(r.env, r.address, r.db.Name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(changedProfiler{store.Redact(r.address), r.db.Name, before})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	if err := replace.File(name, text, 0o600, true); err != nil {
		return nil, err
	}
	fmt.Fprintf(r.env.stderr, "the profiler of %s is changed until the end. If this process is killed, run: "+
		"plimsoll workload record --restore ADDRESS, or in a shell: %s\n", r.db.Name, before)
	restore = func() error {
		const patience = 30 * time.Second
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if err := r.db.Restore(ctx, before); err != nil {
			return fmt.Errorf("the profiler of %s is still changed: %s. In a shell: %s", r.db.Name,
				store.OneLine(err.Error()), before)
		}
		return os.Remove(name)
	}
	if err := r.db.SetProfiling(ctx, asked, before.Made); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot set the profiler of %s: %w", r.db.Name, err), restore())
	}
	return restore, nil
}

// readProfiler reads the profile of the database: what it has or, with --for, what it gets.
func (r *recording) readProfiler(ctx context.Context) (err error) {
	if router, err := r.db.Router(ctx); err != nil {
		return err
	} else if router {
		return usageError("a mongos has no profiler. Use the address of a shard's primary, or --from log:FILE")
	}
	if r.length > 0 {
		if err := r.begin(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	if r.profile != "" {
		restore, err := r.changeProfiler(ctx)
		if err != nil {
			return err
		}
		err = r.follow(ctx)
		return errors.Join(err, restore())
	}
	return r.follow(ctx)
}

// begin samples the collections before the operations that are recorded change them.
func (r *recording) begin(ctx context.Context) error {
	list, err := r.db.Collections(ctx, r.sample, r.model.Options)
	if err != nil {
		return err
	}
	r.begun = map[string]*recorded.Collection{}
	for _, c := range list {
		r.begun[c.Name] = c
	}
	return nil
}

// follow reads the profile and what the server counts beside it.
func (r *recording) follow(ctx context.Context) error {
	state, err := r.db.QueryProfiling(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the state of the profiler: %w", err)
	}
	if r.length > 0 && state.Level == 0 && state.Filter == "" {
		return usageError("the profiler of %s is off. Add --profile all, or --profile slowms=20 for slow operations only", r.db.Name)
	}
	r.describeProfiler(state)
	var failed error
	var profiles recorded.Profiles
	each := func(doc bson.Raw) {
		profiles.Read(doc, func(op *recorded.Operation, err error) { failed = cmp.Or(failed, r.add(op, err)) })
	}
	if r.length == 0 {
		_, err := r.db.Profile(ctx, time.Time{}, false, each)
		return cmp.Or(err, failed)
	}
	before, err := r.db.CountOperations(ctx)
	if err != nil {
		r.source.Unseen = append(r.source.Unseen, "The share of the operations that was seen is not known, because $collStats "+
			"was refused.")
	}
	fmt.Fprintf(r.env.stderr, "recording for %v\n", r.length)
	began := time.Now()
	watching, cancel := context.WithCancel(ctx) // the driver refuses to wait for documents close to a deadline
	defer cancel()
	time.AfterFunc(r.length, cancel)
	lost, err := r.db.Profile(watching, began, true, each)
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // Ctrl-C ends the recording early
	r.source.Period = time.Since(began)
	if lost > 0 {
		r.source.Unseen = append(r.source.Unseen, fmt.Sprintf("The profile was overwritten %d times before it was read. "+
			"Operations are missing. Use a larger system.profile, or --profile slowms=N.", lost))
	}
	if before != nil {
		r.compareCounts(ctx, before)
	}
	return nil
}

// describeProfiler says what the profiler does not show.
func (r *recording) describeProfiler(p capture.Profiling) {
	say := func(format string, args ...any) {
		r.source.Unseen = append(r.source.Unseen, fmt.Sprintf(format, args...))
	}
	switch {
	case p.Filter != "":
		say("The profiler has a filter, and shows only operations that match.")
	case p.Level == 1 && p.SlowMillis > 0:
		say("Operations faster than %d ms (slowms) were not recorded.", p.SlowMillis)
	case p.Level == 0:
		say("The profiler is off. It showed what it had recorded before.")
	}
	if p.Level == 1 && p.SampleRate < 1 {
		say("The profiler recorded %g %% of the slow operations (sampleRate).", p.SampleRate*100)
	}
}

// compareCounts says which share of the operations that the server counted was seen.
func (r *recording) compareCounts(ctx context.Context, before capture.Operations) {
	after, err := r.db.CountOperations(ctx)
	if err != nil {
		return
	}
	counted := after.Since(before)
	seen := r.model.Operations
	if counted > 0 {
		share := min(float64(seen)/float64(counted), 1)
		r.source.Unseen = append(r.source.Unseen, fmt.Sprintf("The server counted %d operations on its collections in that time "+
			"(latencyStats). The profiler showed %d, %.3g %%.", counted, seen, share*100))
	}
}
