package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/record"
)

// diskFail uses the volume, which can make any kind of disk fail.
var diskFail = Action{
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
	Witness: requestsAffected,
}

func healDisks(ctx context.Context, j *Job) (all error) {
	for _, d := range j.Disks {
		all = errors.Join(all, j.Volume.HealDisk(ctx, d))
	}
	return all
}

// diskFault is an action that the fault filesystem implements as one of its kinds of faults.
var diskFault = Action{
	Apply: setFault,
	Undo: func(ctx context.Context, j *Job) error {
		if err := j.clearDisks(ctx, fault.OfDisk(j.Fault).Kind); err != nil {
			return err
		}
		return j.Site.DisksWork(ctx, j.Volume.Name())
	},
	Witness: requestsAffected,
}

// faultyDisk is a disk of the fault filesystem and its name there.
type faultyDisk struct {
	client *faultfs.Client
	name   string
}

// setFault sets the fault on all disks of a job.
func setFault(ctx context.Context, j *Job) error {
	for _, d := range j.Disks {
		client, name, err := j.Site.FaultDisk(j.Volume.Name(), d)
		if err != nil {
			return fault.Refuse("%s: %v", j.Action.Name, err)
		}
		j.faulty = append(j.faulty, faultyDisk{client, name})
	}
	for i, d := range j.faulty {
		one := fault.OfDisk(j.Fault)
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
func requestsAffected(ctx context.Context, s *Scene) (string, error) {
	kind := fault.OfDisk(s.Fault).Kind
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
