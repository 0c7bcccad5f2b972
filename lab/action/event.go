package action

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
)

var initialSync = Action{
	Apply: func(ctx context.Context, j *Job) error {
		name := j.Node.Name()
		if err := notPrimary(ctx, j); err != nil {
			return err
		}
		n, ok := j.Node.(interface{ DeleteData() error })
		if !ok {
			return fault.Refuse("%s has no data", name)
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
		return fault.Refuse("%s is the primary. Name a secondary, or let it step down first (%s)", primary, fault.StepDown)
	}
	return err
}

var removeMember = Action{
	Suits: func(j *Job) error {
		if _, ok := j.Site.Cluster().(topology.Membership); !ok {
			return fault.Refuse("%s needs a replica set of mongod", fault.RemoveMember)
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

var backup = Action{
	Suits: func(j *Job) error {
		if n, ok := j.Node.(*engine.MongoNode); !ok || n.DataDir() == "" {
			return fault.Refuse("%s needs a mongod with data, and %s has none", fault.Backup, j.Name())
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
