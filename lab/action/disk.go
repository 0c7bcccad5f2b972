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

// diskFail is done by the volume, which knows how to end any kind of disk.
var diskFail = &Action{
	Name: DiskFail, On: Disk, Needs: NeedsDisks,
	Help:  "every request is answered with an error",
	Lasts: true, Manner: record.MannerDisk,
	Apply: func(ctx context.Context, j *Job) error {
		for _, d := range j.Disks {
			if err := j.Volume.FailDisk(ctx, d); err != nil {
				return errors.Join(err, healDisks(context.WithoutCancel(ctx), j))
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
	Witness: func(ctx context.Context, s *Scene) (string, error) { return felt(ctx, s, faultfs.Dead) },
}

// healDisks heals all disks of a job, whatever becomes of what stands on them.
func healDisks(ctx context.Context, j *Job) (all error) {
	for _, d := range j.Disks {
		all = errors.Join(all, j.Volume.HealDisk(ctx, d))
	}
	return all
}

var (
	diskError = ofDisk(DiskError, faultfs.Error, "requests fail with --errno", "errno")
	diskFull  = ofDisk(DiskFull, faultfs.Full, "writes fail, because there is no space")
	diskSlow  = ofDisk(DiskSlow, faultfs.Slow, "requests take --delay longer", "delay")
	diskHang  = ofDisk(DiskHang, faultfs.Hang, "requests wait until it is healed")

	diskCorrupt = damaging(func(f spec.Fault) bool { return slices.Contains(f.Ops, "write") }, ofDisk(DiskCorrupt, faultfs.Corrupt,
		"blocks are read with other bytes than were written (--ops write: stored with other bytes)"))
	diskTorn = damaging(func(spec.Fault) bool { return true }, ofDisk(DiskTorn, faultfs.Torn,
		"only a part of a write reaches the disk, and it is reported as done"))
	diskLie = ofDisk(DiskLie, faultfs.Lie, "flushes are acknowledged and do nothing")
)

func damaging(when func(spec.Fault) bool, a *Action) *Action {
	a.Damages = when
	return a
}

// ofDisk is an action that a disk of the fault filesystem does itself: one of the kinds of its faults.
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
			if err := j.clear(ctx, kind); err != nil {
				return err
			}
			return j.Site.DisksWork(ctx, j.Volume.Name())
		},
		Witness: func(ctx context.Context, s *Scene) (string, error) { return felt(ctx, s, kind) },
	}
}

// faultOf is a fault as the fault filesystem knows it. The supervisor keeps its limit.
func faultOf(kind string, f spec.Fault) faultfs.Fault {
	return faultfs.Fault{Kind: kind, Ops: f.Ops, Errno: f.Errno, Delay: f.Delay.Std(), Probability: float64(f.Probability),
		Seed: f.Seed}
}

// heldDisk is a disk of the fault filesystem: its control, and its name there.
type heldDisk struct {
	client *faultfs.Client
	name   string
}

// setFault gives all disks of a job its fault. What it did before it failed is undone.
func setFault(ctx context.Context, j *Job, kind string) error {
	for _, d := range j.Disks {
		client, name, err := j.Site.FaultDisk(j.Volume.Name(), d)
		if err != nil {
			return Refuse("%s: %v", j.Action.Name, err)
		}
		j.held = append(j.held, heldDisk{client, name})
	}
	for i, d := range j.held {
		one := faultOf(kind, j.Fault)
		one.Seed += uint64(i) // two disks do not lose the same blocks
		if err := d.client.Set(ctx, d.name, one); err != nil {
			return errors.Join(err, j.clear(context.WithoutCancel(ctx), kind))
		}
	}
	return nil
}

// clear takes faults of some kinds from the disks of a job, all where none is given.
func (j *Job) clear(ctx context.Context, kinds ...string) (all error) {
	for _, d := range j.held {
		all = errors.Join(all, d.client.Clear(ctx, d.name, kinds...))
	}
	return all
}

// Calm takes all faults from the disks of a job, before a lab is removed: a process that waits for a disk cannot be
// killed.
func (j *Job) Calm(ctx context.Context) {
	_ = j.clear(ctx) // a disk whose server has ended answers nothing any more
}

// felt sees that requests to disks felt the fault: the disks count them.
func felt(ctx context.Context, s *Scene, kind string) (string, error) {
	c, err := s.Lab.Counters(ctx)
	if err != nil {
		return "", err
	}
	before, _ := s.hits(s.Before.Counters, kind)
	now, disks := s.hits(c, kind)
	if disks == 0 {
		return closed(s)
	}
	if now <= before {
		return "", nil
	}
	return fmt.Sprintf("%s to %s felt it (%s)", figure.Plural(int(now-before), "request"), s.Target, kind), nil
}

// onTarget says whether a disk of a volume is what the fault was done to.
func (s *Scene) onTarget(volume, disk string) bool {
	return s.Target == volume || s.Target == volume+"/"+disk
}

// hits are how many requests to the target's disks a kind of fault has hit, and how many of its disks can tell.
func (s *Scene) hits(c Counters, kind string) (hits int64, disks int) {
	for _, d := range c.Disks {
		if s.onTarget(d.Volume, d.Disk) {
			disks++
			hits += d.Stats.Hits[kind]
		}
	}
	return hits, disks
}

// closed sees that the kernel has closed plain disks, which count nothing themselves.
func closed(s *Scene) (string, error) {
	var devices []string
	for _, v := range s.Before.Lab.Volumes {
		for _, d := range v.Disks {
			if !s.onTarget(v.Name, d.Name) {
				continue
			}
			if !shrunk(d) {
				return "", nil
			}
			devices = append(devices, d.Device)
		}
	}
	if len(devices) == 0 {
		return "", fmt.Errorf("no disk of %s can be seen", s.Target)
	}
	return "the kernel lets no request through to " + strings.Join(devices, ", "), nil
}

// shrunk says whether a disk has no sectors any more in the eyes of the kernel, which refuses all requests then.
func shrunk(d record.LabDisk) bool {
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
