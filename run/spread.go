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
)

// spread sees to it that what is loaded into a sharded lab is on all of its shards: each collection of the workload
// that is not sharded is, by the hash of its _id, before there is anything in it. A collection that has documents is
// left as it is where the run takes the data as they are; otherwise it is an error.
func (r *runner) spread(ctx context.Context) error {
	if r.lab == nil || r.lab.before == nil || r.lab.before.Specification.Topology.Kind != spec.LabSharded {
		return nil
	}
	return SpreadOver(ctx, r.target.URI, r.spec, r.workload.Collections(), r.spec.LoadPhase.Skip, r.opts.Progress.Step)
}

// SpreadOver shards collections of a sharded cluster by the hash of their _id, with chunks on every shard, unless they
// are sharded already. asIs leaves those alone that have documents.
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
		return errors.New("collections cannot be sharded through this client")
	}
	for _, name := range collections {
		step("spreading " + name + " over the shards")
		err := shards.Spread(ctx, router, asked.Database, name)
		if errors.Is(err, shards.ErrHasData) {
			if asIs {
				continue
			}
			return fmt.Errorf("%w: load into another database (--database), or use it as it is (--load skip)", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
