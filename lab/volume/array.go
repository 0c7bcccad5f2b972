package volume

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
)

// array combines the disks of a volume. Disks are identified by their index, from 0.
type array interface {
	// format combines new devices and makes the filesystem.
	format(ctx context.Context, devices []string) error
	// assemble starts the array with the devices that answer; release stops it without losing data.
	assemble(ctx context.Context, answering []string) error
	release(ctx context.Context) error
	// top is the device to mount, with the mount options.
	top(answering []string) string
	options(answering []string, degraded bool) string
	// examine queries the state of the array.
	examine(ctx context.Context, mount string) (examined, error)
	// rejoin adds a disk that answers again. If retired is true, such a disk must not be read before it was replaced.
	rejoin(ctx context.Context, device string) error
	retired() bool
	// replace replaces a device that does not answer by a new one, and returns when the data are rebuilt.
	replace(ctx context.Context, mount string, place int, old, new string) error
	// verify compares all copies and repairs wrong ones. degraded says that the volume was written to while it was mounted
	// without a disk.
	verify(ctx context.Context, mount string, degraded bool) (verified, error)
}

// examined is the state of an array.
type examined struct {
	errors               map[string]int64 // by device
	detail               string           // in the words of the backend
	degraded, rebuilding bool
}

// verified has the counts of a comparison of copies.
type verified struct {
	Corrected, Uncorrectable int64
	Rounds                   int
	Note                     string
}

func (v verified) String() string {
	if v.Note != "" {
		return v.Note
	}
	return fmt.Sprintf("%s corrected, %s not correctable", figure.Plural(int(v.Corrected), "error"),
		figure.Count(v.Uncorrectable))
}

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

// makeFilesystem is the command that makes a filesystem on a new block device: without discarding, because the device
// is empty, and without background initialization.
func makeFilesystem(kind, device string) []string {
	switch kind {
	case "xfs":
		return []string{"mkfs.xfs", "-q", "-f", "-K", device}
	case "ext4":
		return []string{"mkfs.ext4", "-q", "-F", "-m", "0",
			"-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device}
	}
	return mountinfo.WithoutMounts([]string{"mkfs.btrfs", "-q", "-f", "-K", "-d", "single", "-m", "dup", device})
}

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
		return errors.New("the only disk does not answer. Revert its fault first")
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

var errNoCopy = errors.New("the volume has only one copy of its data, so a failed disk cannot be rebuilt. " +
	"Use lab revert to end the fault, or create the lab again with lab down and lab up")

// lines are the lines of a text that are not blank.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
