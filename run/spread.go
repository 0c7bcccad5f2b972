package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/shards"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// spread makes collections with options, and shards the collections of the workload in a sharded lab, unless they are
// sharded, by the hash of _id. A collection that already has documents is an error, unless the run takes the data as
// they are.
func (r *runner) spread(ctx context.Context) error {
	if err := r.create(ctx); err != nil {
		return err
	}
	if err := r.arrange(ctx); err != nil {
		return err
	}
	if r.lab == nil || r.lab.before == nil || r.lab.before.Specification.Topology.Kind != spec.LabSharded {
		return nil
	}
	return SpreadOver(ctx, r.target.URI, r.spec, r.workload.Collections(), r.spec.LoadPhase.Skip, r.opts.Progress.Step)
}

// create makes the views of the workload, and the collections that a server does not make by itself.
func (r *runner) create(ctx context.Context) error {
	creator, ok := workload.As[workload.Creator](r.workload)
	if !ok || r.opts.share().Clients > 1 || r.spec.LoadPhase.Skip || r.target.StoresNothing() {
		return nil
	}
	list := creator.Creations()
	if len(list) == 0 {
		return nil
	}
	c, ok := r.store.(server.Commander)
	if !ok {
		return fmt.Errorf("%s is capped, a time series, a view, or has a collation, which this target does not know. Use a MongoDB",
			list[0].Collection)
	}
	return store.Create(ctx, c, r.spec.Database, list)
}

// arrange shards collections as the workload file says, if the target is sharded.
func (r *runner) arrange(ctx context.Context) error {
	sharder, ok := workload.As[workload.Sharder](r.workload)
	if !ok || r.opts.share().Clients > 1 {
		return nil
	}
	c, done, err := r.asSharded(ctx)
	if err != nil || c == nil {
		return err
	}
	defer done()
	for _, s := range sharder.Shardings() {
		r.opts.Progress.Step("sharding " + s.Collection)
		if err := shards.Arrange(ctx, c, r.spec.Database, s); err != nil {
			return err
		}
	}
	return nil
}

// SpreadOver shards collections of a sharded cluster by the hash of _id, with chunks on every shard, unless they are
// sharded already. With asIs, collections that have documents stay as they are.
func SpreadOver(ctx context.Context, uri string, asked spec.Run, collections []string, asIs bool,
	step func(text string)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cfg := store.Config{Database: asked.Database, Sessions: 1, Timeout: 10 * time.Second}
	st, err := Target{Kind: "mongodb", URI: uri}.Open(ctx, asked.Client, cfg, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	router, ok := st.(server.Commander)
	if !ok {
		return errors.New("this client cannot shard collections")
	}
	for _, name := range collections {
		step("spreading " + name + " over the shards")
		err := shards.Spread(ctx, router, asked.Database, name)
		if errors.Is(err, shards.ErrHasData) {
			if asIs {
				continue
			}
			return fmt.Errorf("%w. Load into another database (--database), or use the data as they are (--load skip)", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
