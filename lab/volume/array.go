package volume

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// array is what combines the disks of a volume. Disks are known by their place in it, from 0.
type array interface {
	// format combines new devices and makes the filesystem.
	format(ctx context.Context, devices []string) error
	// assemble brings the array back with the devices that answer, release takes it apart without losing anything.
	assemble(ctx context.Context, answering []string) error
	release(ctx context.Context) error
	// top is the device that is mounted; options are those of the mount.
	top(answering []string) string
	options(answering []string, degraded bool) string
	// examine asks the backend about the volume.
	examine(ctx context.Context, mount string) (examined, error)
	// rejoin takes a disk that answers again back in. With retired, such a disk must not be read before it was replaced.
	rejoin(ctx context.Context, device string) error
	retired() bool
	// replace puts a new device in the place of one that does not answer and returns when its data are there.
	replace(ctx context.Context, mount string, place int, old, new string) error
	// verify compares all copies and repairs those that are wrong. degraded says that the volume was written to while
	// it was mounted without a disk.
	verify(ctx context.Context, mount string, degraded bool) (verified, error)
}

// examined is what a backend says about its disks.
type examined struct {
	// errors are counted by device.
	errors map[string]int64
	// detail is in the backend's own words. degraded and rebuilding are what it thinks of itself.
	detail               string
	degraded, rebuilding bool
}

// verified is what a backend counted when it compared copies.
type verified struct {
	Corrected, Uncorrectable int64
	Rounds                   int
	Note                     string
}

func (v verified) String() string {
	if v.Note != "" {
		return v.Note
	}
	return fmt.Sprintf("%s corrected, %s not correctable", figure.Plural(int(v.Corrected), "error"), figure.Count(v.Uncorrectable))
}

// newArray returns the array of a scheme; name marks it where it has a name of its own.
func newArray(s scheme, t tools, name string) array {
	switch s.backend {
	case Btrfs:
		return &btrfsArray{s: s, t: t}
	case MD:
		return &mdArray{s: s, t: t, name: name}
	case LVM:
		return &lvmArray{s: s, t: t, group: name}
	}
	return &oneDisk{s: s, t: t}
}

// makeFilesystem is the command that makes a filesystem on a block device. Disks are new and empty: nothing has to be
// discarded, and nothing is left to be done in the background.
func makeFilesystem(kind, device string) []string {
	switch kind {
	case "xfs":
		return []string{"mkfs.xfs", "-q", "-f", "-K", device}
	case "ext4":
		return []string{"mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device}
	}
	return blind([]string{"mkfs.btrfs", "-q", "-f", "-K", "-d", "single", "-m", "dup", device})
}

// filesystemOptions are the mount options of a filesystem.
func filesystemOptions(s scheme) string {
	if s.filesystem == "btrfs" && s.checksum == "none" {
		return "nodatacow,nodatasum"
	}
	return ""
}

// oneDisk is a filesystem on a single disk.
type oneDisk struct {
	s scheme
	t tools
}

func (o *oneDisk) format(ctx context.Context, devices []string) error {
	_, err := o.t.run(ctx, makeFilesystem(o.s.filesystem, devices[0])...)
	return err
}

func (o *oneDisk) assemble(_ context.Context, answering []string) error {
	if len(answering) == 0 {
		return fmt.Errorf("the only disk does not answer: heal it first")
	}
	return nil
}

func (o *oneDisk) release(context.Context) error                              { return nil }
func (o *oneDisk) top(answering []string) string                              { return answering[0] }
func (o *oneDisk) options([]string, bool) string                              { return filesystemOptions(o.s) }
func (o *oneDisk) examine(context.Context, string) (examined, error)          { return examined{}, nil }
func (o *oneDisk) rejoin(context.Context, string) error                       { return nil }
func (o *oneDisk) retired() bool                                              { return false }
func (o *oneDisk) replace(context.Context, string, int, string, string) error { return errNoCopy }

func (o *oneDisk) verify(ctx context.Context, mount string, _ bool) (verified, error) {
	if o.s.filesystem == "btrfs" {
		return scrub(ctx, mount, 1)
	}
	return verified{Note: "one disk has no other copy to compare with"}, nil
}

// errNoCopy says why a disk cannot be replaced.
var errNoCopy = errors.New("it keeps one copy of its data, so a disk that does not answer cannot be rebuilt: lab heal ends the fault of the disk, mounts the volume again and starts its member; to go on without that disk, make the lab anew with lab down and lab up")

// lines are the lines of a text that say something.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
