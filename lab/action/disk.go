package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The names of the actions on disks.
const (
	DiskFail    = "disk-fail"
	DiskError   = "disk-error"
	DiskFull    = "disk-full"
	DiskSlow    = "disk-slow"
	DiskHang    = "disk-hang"
	DiskCorrupt = "disk-corrupt"
	DiskTorn    = "disk-torn"
	DiskLie     = "disk-lie"
)

// diskFail uses the volume, which can make any kind of disk fail.
var diskFail = &Action{
	Name: DiskFail, On: Disk, Needs: NeedsDisks,
	Help:  "every request fails with an error",
	Lasts: true, Manner: record.MannerDisk,
	Apply: func(ctx context.Context, j *Job) error {
		for _, d := range j.Disks {
			if err := j.Volume.FailDisk(ctx, d); err != nil {
				return err
			}
		}
		return nil
	},
	Undo: func(ctx context.Context, j *Job) error {
		if err := healDisks(ctx, j); err != nil {
			return err
		}
		return j.Site.DisksWork(ctx, j.Volume.Name())
	},
	Witness: func(ctx context.Context, s *Scene) (string, error) { return requestsAffected(ctx, s, faultfs.Dead) },
}

func healDisks(ctx context.Context, j *Job) (all error) {
	for _, d := range j.Disks {
		all = errors.Join(all, j.Volume.HealDisk(ctx, d))
	}
	return all
}

var (
	diskError = ofDisk(DiskError, faultfs.Error, "requests fail with --errno", "errno")
	diskFull  = ofDisk(DiskFull, faultfs.Full, "writes fail because no space is left")
	diskSlow  = ofDisk(DiskSlow, faultfs.Slow, "requests take --delay longer", "delay")
	diskHang  = ofDisk(DiskHang, faultfs.Hang, "requests wait until the fault is reverted")

	diskCorrupt = damaging(func(f spec.Fault) bool { return slices.Contains(f.Ops, "write") },
		ofDisk(DiskCorrupt, faultfs.Corrupt, "reads return wrong bytes (--ops write: wrong bytes are stored)"))
	diskTorn = damaging(func(spec.Fault) bool { return true },
		ofDisk(DiskTorn, faultfs.Torn, "only a part of a write reaches the disk, but the write is acknowledged"))
	diskLie = ofDisk(DiskLie, faultfs.Lie, "flushes are acknowledged but do nothing")
)

func damaging(when func(spec.Fault) bool, a *Action) *Action {
	a.Damages = when
	return a
}

// ofDisk is an action that the fault filesystem implements as one of its kinds of faults.
func ofDisk(name, kind, help string, takes ...string) *Action {
	manner := record.MannerDisk
	if kind == faultfs.Slow {
		manner = record.MannerSlow
	}
	return &Action{
		Name: name, On: Disk, Needs: NeedsFaults, Help: help, Takes: append(takes, "ops", "probability"),
		Lasts: true, Manner: manner,
		Check: func(f spec.Fault) error {
			if err := faultOf(kind, f).Check(); err != nil {
				return Refuse("%s", err)
			}
			return nil
		},
		Apply: func(ctx context.Context, j *Job) error { return setFault(ctx, j, kind) },
		Undo: func(ctx context.Context, j *Job) error {
			if err := j.clearDisks(ctx, kind); err != nil {
				return err
			}
			return j.Site.DisksWork(ctx, j.Volume.Name())
		},
		Witness: func(ctx context.Context, s *Scene) (string, error) { return requestsAffected(ctx, s, kind) },
	}
}

// faultOf is the fault of the fault filesystem. It has no time limit, because the supervisor keeps that.
func faultOf(kind string, f spec.Fault) faultfs.Fault {
	return faultfs.Fault{Kind: kind, Ops: f.Ops, Errno: f.Errno, Delay: f.Delay.Std(),
		Probability: float64(f.Probability), Seed: f.Seed}
}

// faultyDisk is a disk of the fault filesystem and its name there.
type faultyDisk struct {
	client *faultfs.Client
	name   string
}

// setFault sets the fault on all disks of a job.
func setFault(ctx context.Context, j *Job, kind string) error {
	for _, d := range j.Disks {
		client, name, err := j.Site.FaultDisk(j.Volume.Name(), d)
		if err != nil {
			return Refuse("%s: %v", j.Action.Name, err)
		}
		j.faulty = append(j.faulty, faultyDisk{client, name})
	}
	for i, d := range j.faulty {
		one := faultOf(kind, j.Fault)
		one.Seed += uint64(i) // so that two disks do not lose the same blocks
		if err := d.client.Set(ctx, d.name, one); err != nil {
			return err
		}
	}
	return nil
}

// clearDisks clears faults of some kinds from the disks of a job; all faults if no kind is given.
func (j *Job) clearDisks(ctx context.Context, kinds ...string) (all error) {
	for _, d := range j.faulty {
		all = errors.Join(all, d.client.Clear(ctx, d.name, kinds...))
	}
	return all
}

// ClearDisks clears all faults from the disks of a job before a lab is removed: a process that waits for a disk cannot
// be killed.
func (j *Job) ClearDisks(ctx context.Context) {
	_ = j.clearDisks(ctx) // the server of a disk may have ended
}

// requestsAffected finds requests to disks that the fault affected, in the counters of the disks.
func requestsAffected(ctx context.Context, s *Scene, kind string) (string, error) {
	c, err := s.Lab.Counters(ctx)
	if err != nil {
		return "", err
	}
	before, _ := s.hits(s.Before.Counters, kind)
	now, disks := s.hits(c, kind)
	if disks == 0 {
		return devicesClosed(s)
	}
	if now <= before {
		return "", nil
	}
	return fmt.Sprintf("the fault affected %s to %s (%s)", figure.Plural(int(now-before), "request"), s.Target, kind), nil
}

func (s *Scene) onTarget(volume, disk string) bool {
	return s.Target == volume || s.Target == volume+"/"+disk
}

// hits is how many requests to the target's disks a kind of fault has affected, and how many of its disks have
// counters.
func (s *Scene) hits(c Counters, kind string) (hits int64, disks int) {
	for _, d := range c.Disks {
		if s.onTarget(d.Volume, d.Disk) {
			disks++
			hits += d.Stats.Hits[kind]
		}
	}
	return hits, disks
}

// devicesClosed checks that the kernel has closed all plain disks of the target, which have no counters.
func devicesClosed(s *Scene) (string, error) {
	var devices []string
	for _, v := range s.Before.Lab.Volumes {
		for _, d := range v.Disks {
			if !s.onTarget(v.Name, d.Name) {
				continue
			}
			if !isClosed(d) {
				return "", nil
			}
			devices = append(devices, d.Device)
		}
	}
	if len(devices) == 0 {
		return "", fmt.Errorf("%s has no disk that is visible to this process", s.Target)
	}
	return "the kernel rejects all requests to " + strings.Join(devices, ", "), nil
}

// isClosed says whether the kernel reports a device as smaller than its file, and so rejects requests to it.
func isClosed(d record.LabDisk) bool {
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(d.Device), "size"))
	if err != nil {
		return false
	}
	var sectors int64
	if _, err := fmt.Sscan(string(text), &sectors); err != nil {
		return false
	}
	fi, err := os.Stat(d.File)
	return err == nil && sectors*512 < fi.Size()
}
