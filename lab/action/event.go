package action

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The names of planned events, besides [StepDown].
const (
	RollingRestart = "rolling-restart"
	IndexBuild     = "index-build"
	InitialSync    = "initial-sync"
	RemoveMember   = "remove-member"
	AddMember      = "add-member"
	ChunkMigration = "chunk-migration"
	Compaction     = "compaction"
	Backup         = "backup"
)

// Targets that stand for several things.
const (
	AllSets    = "all"      // all sets of the deployment
	OfWorkload = "workload" // the collection of the workload
)

var rollingRestart = &Action{
	Name: RollingRestart, On: Set, Implied: AllSets, Event: true, Manner: record.MannerPlanned,
	Help: "each member is stopped cleanly and started again, the secondaries first; the primary hands over before its turn",
}

var indexBuild = &Action{
	Name: IndexBuild, On: Collection, Implied: OfWorkload, Event: true, Plain: true, Manner: record.MannerPlanned,
	Help: "an index on the first field after _id is built; it is dropped after the load",
}

var chunkMigration = &Action{
	Name: ChunkMigration, On: Collection, Implied: OfWorkload, Event: true, Plain: true, Manner: record.MannerPlanned,
	Needs: NeedsShards, Lacking: "it has no shards",
	Help: "a chunk is moved from the shard that has the most chunks to the one that has the fewest",
}

var compaction = &Action{
	Name: Compaction, On: Member, Event: true, Plain: true, Manner: record.MannerPlanned,
	Lacking: "it has no compact command; PostgreSQL reuses space by vacuum",
	Help:    "the command compact, for each collection of the workload",
}

var initialSync = &Action{
	Name: InitialSync, On: Member, Event: true, TakesDown: true, Manner: record.MannerPlanned, Needs: NeedsSet,
	Help: "a secondary is stopped, its data are deleted, and it copies all data from another member",
	Apply: func(ctx context.Context, j *Job) error {
		name := j.Node.Name()
		if err := notPrimary(ctx, j); err != nil {
			return err
		}
		n, ok := j.Node.(interface{ DeleteData() error })
		if !ok {
			return Refuse("%s has no data", name)
		}
		j.Site.EndOnPurpose([]string{name}, "it will copy all data again")
		if err := j.Node.Stop(ctx); err != nil {
			return err
		}
		if err := n.DeleteData(); err != nil {
			return fmt.Errorf("cannot delete the data of %s: %w", name, err)
		}
		return j.Site.Rejoin(name)
	},
	Witness: processesEnded,
}

// notPrimary refuses the primary of a set as a target.
func notPrimary(ctx context.Context, j *Job) error {
	primary, err := j.Site.Cluster().Primary(ctx, j.Site.SetOf(j.Node.Name()))
	if err == nil && primary == j.Node.Name() {
		return Refuse("%s is the primary. Name a secondary, or let it step down first (%s)", primary, StepDown)
	}
	return err
}

var removeMember = &Action{
	Name: RemoveMember, On: Member, Lasts: true, TakesDown: true, Manner: record.MannerPlanned, Needs: NeedsSet,
	Lacking: "the members of its set are those that run; use " + Stop,
	Help:    "the set is configured without the member; reverting adds the member again",
	Suits: func(j *Job) error {
		if _, ok := j.Site.Cluster().(topology.Membership); !ok {
			return Refuse("%s needs a replica set of mongod", RemoveMember)
		}
		return nil
	},
	Apply: func(ctx context.Context, j *Job) error {
		if err := notPrimary(ctx, j); err != nil {
			return err
		}
		return j.Site.Cluster().(topology.Membership).Remove(ctx, j.Node.Name())
	},
	Undo: func(ctx context.Context, j *Job) error {
		return j.Site.Cluster().(topology.Membership).Add(ctx, j.Node.Name())
	},
	Witness: leftSet,
}

// leftSet checks that a member that runs is neither a primary nor a secondary any more.
func leftSet(ctx context.Context, s *Scene) (string, error) {
	l, err := s.Lab.Observe(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range l.Members {
		if m.Name == s.Target && m.State == "running" && m.Role != "primary" && m.Role != "secondary" {
			return m.Name + " runs, and reports no role in the set", nil
		}
	}
	return "", nil
}

var addMember = &Action{
	Name: AddMember, On: Member, Lasts: true, Manner: record.MannerPlanned, Needs: NeedsSet,
	Lacking: "the members of its set are those that run",
	Help:    "a new member is added to the set, with the commands of a platform file",
	Apply: func(context.Context, *Job) error {
		return Refuse("a lab has no spare member. Use %s: reverting adds the member again", RemoveMember)
	},
	Undo:    func(context.Context, *Job) error { return nil },
	Witness: func(context.Context, *Scene) (string, error) { return "", nil },
}

var backup = &Action{
	Name: Backup, On: Member, Event: true, Manner: record.MannerPlanned,
	Lacking: "its gateway has no fsyncLock; use pg_basebackup",
	Help: "fsyncLock holds the writes of a member while its data directory is copied, until fsyncUnlock. On xfs and btrfs " +
		"the copy shares all blocks: it is a snapshot",
	Suits: func(j *Job) error {
		if n, ok := j.Node.(*engine.MongoNode); !ok || n.DataDir() == "" {
			return Refuse("%s needs a mongod with data, and %s has none", Backup, j.Name())
		}
		return nil
	},
	Apply: func(ctx context.Context, j *Job) error {
		n := j.Node.(*engine.MongoNode)
		size, err := snapshot(ctx, n)
		j.Figures = append(j.Figures, record.EventFigure{Name: "copied", Value: float64(size), Unit: "B"})
		return err
	},
	Witness: func(context.Context, *Scene) (string, error) { return "", nil }, // package platform/maintenance has one
}

// snapshot copies the data directory of a member while its writes are locked. The copy replaces an older one, and stays
// until somebody has restored it. It is made by copy_file_range, for which xfs and btrfs share the blocks.
func snapshot(ctx context.Context, n *engine.MongoNode) (size int64, err error) {
	if err := os.RemoveAll(topology.BackupOf(n)); err != nil {
		return 0, err
	}
	lock := bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}
	if err := n.Command(ctx, engine.AsUser, "admin", lock, nil); err != nil {
		return 0, fmt.Errorf("fsyncLock of %s: %w", n.Name(), err)
	}
	defer func() {
		unlock := bson.D{{Key: "fsyncUnlock", Value: 1}}
		if uerr := n.Command(context.WithoutCancel(ctx), engine.AsUser, "admin", unlock, nil); err == nil && uerr != nil {
			err = fmt.Errorf("fsyncUnlock of %s: %w", n.Name(), uerr)
		}
	}()
	copied := topology.BackupOf(n)
	if err := os.CopyFS(copied, os.DirFS(n.DataDir())); err != nil {
		return 0, fmt.Errorf("copy of the data of %s: %w", n.Name(), err)
	}
	return sizeOf(copied)
}

// sizeOf is the size of all files below a directory.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
