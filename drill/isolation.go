package drill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/drill/transactions"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// checkTransactions refuses what the workload transactions does not do.
func checkTransactions(asked spec.Drill) error {
	if asked.Run.Workload.Name != spec.WorkloadTransactions {
		return nil
	}
	switch {
	case asked.Run.Load.Clients > 1:
		return errors.New("workload transactions: one process has to see all transactions. Remove clients")
	case asked.Run.Via != "":
		return errors.New("workload transactions: a REST service has no transactions. Remove via")
	}
	return nil
}

// prepareTransactions writes the registers of a round, confirmed by a majority.
func (r *round) prepareTransactions(ctx context.Context) error {
	asked := r.spec.Run
	length := asked.Load.Warmup.Std() + r.spec.Measured()
	if r.scheduler.hasEvents() {
		length += r.spec.Recovery.Std()
	}
	k := transactions.New(transactions.Options{Mark: r.result.Mark, Seed: asked.Workload.Seed, Length: length,
		Writers: max(1, int(asked.Load.Workers)), Times: r.target.givesTimes()})
	r.operations.observed.keeper = k
	r.epochs = newEpochs(k, settingsPromise(asked.Durability.ReadConcern, r.target.sharded()))
	if r.target.sharded() && r.target.lab != nil {
		err := run.SpreadOver(ctx, r.target.uri, asked, []string{transactions.Collection}, true, r.drill.progress.Step)
		if err != nil {
			return &run.Error{Stage: run.Reaching, Err: err}
		}
	}
	c, err := platform.Connect(r.target.uri, options.Client().SetServerSelectionTimeout(10*time.Second))
	if err != nil {
		return &run.Error{Stage: run.Reaching, Err: err}
	}
	defer c.Close()
	writing := wait.Wait{Name: "write of the registers", Limit: r.drill.within(reachAtMost)}
	err = writing.Do(ctx, func(ctx context.Context) error {
		to := c.Database(asked.Database).Collection(transactions.Collection,
			options.Collection().SetWriteConcern(writeconcern.Majority()))
		docs := k.Registers()
		for len(docs) > 0 {
			n := min(len(docs), 1000)
			if _, err := to.InsertMany(ctx, docs[:n], options.InsertMany().SetOrdered(false)); err != nil {
				return fmt.Errorf("cannot write the registers of the transactions: %w", err)
			}
			wait.Answered(ctx)
			docs = docs[n:]
		}
		return nil
	})
	if err != nil {
		return &run.Error{Stage: run.Reaching, Err: err}
	}
	return nil
}

// isolation judges the transactions of a round with the registers of the final read.
func (r *round) isolation(ctx context.Context, final *source) (*record.IsolationResult, error) {
	k := r.epochs.keeper
	last := make([][]isolation.Op, k.Epochs())
	err := final.Scan(ctx, transactions.Collection, func(doc []byte) error {
		o, epoch, err := register(k, doc)
		if epoch >= 0 && err == nil {
			last[epoch] = append(last[epoch], o)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.epochs.end(last)
	promise, why := r.guarantees().isolation()
	out := r.epochs.result(promise, why, r.clock.shift)
	r.countSeveral(out)
	if out.Exported, err = r.export(r.epochs.shown); err != nil {
		r.drill.find("history-unsaved", measure.Warning, "the history of transactions of round %d could not be saved for other "+
			"checkers: %v", r.result.Number, err)
	}
	return out, nil
}

// countSeveral counts the transactions that isolation is about: a single write has none.
func (r *round) countSeveral(out *record.IsolationResult) {
	from := int64(math.MaxInt64)
	if faults := r.result.Faults; anyInjected(faults) {
		if from = faults[0].Injected; faults[0].Event == nil { // an event is done at its end
			from = max(from, faults[0].Done)
		}
	}
	for at, n := range r.epochs.starts {
		out.Several += n
		if from < math.MaxInt64 && at+r.clock.shift >= from {
			out.After += n
		}
	}
}

// untested says why a round shows nothing about isolation, "" if it does: transactions committed before the fault and
// none after it say nothing about the fault.
func untested(r *record.DrillRound) string {
	i := r.Isolation
	switch {
	case i == nil || i.Promise == record.NoIsolation:
		return ""
	case i.Several < fewestTransactions:
		return fmt.Sprintf("only %s of several operations committed. At least %d are needed to notice a violation",
			figure.Plural(int(i.Several), "transaction"), fewestTransactions)
	case anyInjected(r.Faults) && i.After < fewestTransactions:
		return fmt.Sprintf("only %s of several operations committed after the fault took effect. At least %d are needed to notice a "+
			"violation. Use a longer load (--duration)", figure.Plural(int(i.After), "transaction"), fewestTransactions)
	}
	return ""
}

// fewestTransactions is the smallest number of transactions that show something.
const fewestTransactions = 20

// mostExported is how many transactions are saved for other checkers, whose lists grow with the square of it.
const mostExported = 1000

// export saves a history for other checkers, and returns its files.
func (r *round) export(h isolation.History) (files []string, err error) {
	dir := filepath.Join(r.drill.o.Dir, "transactions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for _, format := range isolation.Formats {
		name := fmt.Sprintf("round-%d.%s", r.result.Number, format)
		var text bytes.Buffer
		if err := h.Export(&text, format); err != nil {
			return files, err
		}
		if err := replace.File(filepath.Join(dir, name), text.Bytes(), 0o600, false); err != nil {
			return files, err
		}
		files = append(files, "transactions/"+name)
	}
	return files, nil
}

// isolation returns what MongoDB promises for the transactions of a round, and why.
func (g *guarantees) isolation() (isolation.Promise, string) {
	set, why := g.target.replicaSet(g.primaries.sees, g.members)
	concern, sharded := g.asked.ReadConcern, g.target.sharded()
	promise := settingsPromise(concern, sharded)
	switch {
	case !set:
		return isolation.Nothing, why
	case !g.majorityWrites():
		return isolation.Nothing, "a commit with less than w:majority promises nothing across a failover"
	case !g.majorityLasts():
		return isolation.Nothing, "so many members failed at once that even commits of a majority may be lost"
	case sharded && concern == "snapshot":
		return promise, "read concern snapshot and w:majority on a sharded cluster: one snapshot for all shards, which may be " +
			"older than what another router has shown"
	case sharded:
		return promise, "read concern " + concern + " has no common snapshot of the shards"
	case concern == "snapshot":
		return promise, "read concern snapshot and w:majority on a replica set, with the reads on the primary"
	}
	return promise, "w:majority on a replica set; each transaction reads one snapshot of the primary with every read concern"
}

// settingsPromise is what MongoDB promises for transactions with w:majority, if no majority fails.
func settingsPromise(concern string, sharded bool) isolation.Promise {
	switch {
	case sharded && concern == "snapshot":
		// The router takes the newest time that it knows as that of the snapshot, which another router may be ahead of.
		return isolation.Snapshot
	case sharded:
		return isolation.ReadCommitted
	case concern == "snapshot":
		return isolation.StrongSnapshot
	}
	return isolation.Snapshot
}

// isolationText is the sentence about transactions that held.
func isolationText(r *record.DrillRound) string {
	i := r.Isolation
	if i == nil {
		return ""
	}
	through := ""
	n := 0
	for _, f := range r.Faults {
		if f.Injected > 0 {
			n++
		}
	}
	if n > 0 {
		through = " through " + figure.Plural(n, "fault")
	}
	if i.Promise == record.NoIsolation {
		return fmt.Sprintf("nothing is promised for %s transactions%s, because %s", figure.Count(i.Several), through, i.Why)
	}
	return fmt.Sprintf("%s held for %s transactions%s", i.Promise, figure.Count(i.Several), through)
}
