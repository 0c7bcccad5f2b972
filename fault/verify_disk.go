package fault

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
)

// onTarget says whether a disk of a volume is what a fault was done to.
func (i *injector) onTarget(volume, disk string) bool {
	return i.done.Target == volume || i.done.Target == volume+"/"+disk
}

// hits are how many requests to the target's disks a kind of fault has hit, and how many of its disks can tell.
func (i *injector) hits(w lab.Witness, kind string) (hits int64, disks int) {
	for _, d := range w.Disks {
		if i.onTarget(d.Volume, d.Disk) {
			disks++
			hits += d.Stats.Hits[kind]
		}
	}
	return hits, disks
}

// felt sees that requests to disks felt the fault: the disks count them.
func (i *injector) felt(ctx context.Context) (string, error) {
	w, err := i.lab.Witness(ctx)
	if err != nil {
		return "", err
	}
	kind := kindOf(i.fault.Action)
	before, _ := i.hits(i.before.witness, kind)
	now, disks := i.hits(w, kind)
	if disks == 0 {
		return i.closed()
	}
	if now <= before {
		return "", nil
	}
	return fmt.Sprintf("%s to %s felt it (%s)", figure.Plural(int(now-before), "request"), i.done.Target, kind), nil
}

// closed sees that the kernel has closed plain disks, which count nothing themselves.
func (i *injector) closed() (string, error) {
	var says []string
	for _, v := range i.before.lab.Volumes {
		for _, d := range v.Disks {
			if !i.onTarget(v.Name, d.Name) {
				continue
			}
			if !shrunk(d) {
				return "", nil
			}
			says = append(says, d.Device)
		}
	}
	if len(says) == 0 {
		return "", fmt.Errorf("no disk of %s can be seen", i.done.Target)
	}
	return "the kernel lets no request through to " + strings.Join(says, ", "), nil
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
