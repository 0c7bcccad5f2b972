package volume

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
)

// btrfsArray combines disks by a profile of btrfs, which is a filesystem and an array in one.
type btrfsArray struct {
	s scheme
	t tools
}

func (b *btrfsArray) format(ctx context.Context, devices []string) error {
	_, err := b.t.run(ctx, makeBtrfs(b.s, devices)...)
	return err
}

// makeBtrfs is the command that makes the filesystem on all devices.
func makeBtrfs(s scheme, devices []string) []string {
	part := strconv.FormatInt(s.partSize(), 10)
	return mountinfo.WithoutMounts(append([]string{"mkfs.btrfs", "-q", "-f", "-K", "-b", part,
		"-d", s.btrfsProfile(), "-m", s.btrfsMetadata()}, devices...))
}

// assemble only checks: the mount options name the devices.
func (b *btrfsArray) assemble(_ context.Context, answering []string) error {
	if missing := b.s.disks() - len(answering); missing > b.s.tolerates() {
		return fmt.Errorf("%s of %d do not answer, but %s tolerates only %d. Revert some of their faults first",
			figure.Plural(missing, "disk"), b.s.disks(), b.s.btrfsProfile(), b.s.tolerates())
	}
	return nil
}

func (b *btrfsArray) release(context.Context) error { return nil }

func (b *btrfsArray) top(answering []string) string { return answering[0] }

func (b *btrfsArray) options(answering []string, degraded bool) string {
	var o []string
	for _, d := range answering {
		o = append(o, "device="+d)
	}
	if degraded {
		o = append(o, "degraded")
	}
	if own := filesystemOptions(b.s); own != "" {
		o = append(o, own)
	}
	return strings.Join(o, ",")
}

func (b *btrfsArray) examine(ctx context.Context, mount string) (examined, error) {
	out, err := b.t.run(ctx, "btrfs", "device", "stats", mount)
	if err != nil {
		return examined{}, err
	}
	return parseBtrfsStats(out), nil
}

// parseBtrfsStats reads lines such as "[/dev/loop0].write_io_errs    0".
func parseBtrfsStats(text string) examined {
	e := examined{errors: map[string]int64{}}
	var found []string
	for _, line := range lines(text) {
		device, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "].")
		fields := strings.Fields(rest)
		if !ok || len(fields) != 2 {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil || n <= 0 {
			continue
		}
		e.errors[device] += n
		found = append(found, fmt.Sprintf("%s %s %s", device, fields[0], figure.Count(n)))
	}
	e.detail = strings.Join(found, ", ")
	return e
}

func (b *btrfsArray) rejoin(context.Context, string) error { return nil }

// retired is true without checksums, because btrfs then cannot tell old data of a failed disk from new data.
func (b *btrfsArray) retired() bool { return b.s.checksum == "none" && b.s.tolerates() > 0 }

func (b *btrfsArray) replace(ctx context.Context, mount string, place int, _, new string) error {
	if b.s.tolerates() == 0 {
		return errNoCopy
	}
	_, err := b.t.run(ctx, replaceBtrfs(mount, place, new)...)
	return err
}

// replaceBtrfs is the command that rebuilds a disk on a new device. btrfs numbers its disks from 1 in the order of
// mkfs, and a new disk takes the number of the old one. -r reads from the other copies.
func replaceBtrfs(mount string, place int, device string) []string {
	return mountinfo.WithoutMounts([]string{"btrfs", "replace", "start", "-B", "-f", "-K", "-r",
		strconv.Itoa(place + 1), device, mount})
}

// convertBtrfs is the command that adds the missing copies of data that were written while a disk was missing.
func convertBtrfs(s scheme, mount string) []string {
	return []string{"btrfs", "balance", "start", "-f", "-dconvert=" + s.btrfsProfile() + ",soft",
		"-mconvert=" + s.btrfsMetadata() + ",soft", "-sconvert=" + s.btrfsMetadata() + ",soft", mount}
}

func (b *btrfsArray) verify(ctx context.Context, mount string, degraded bool) (verified, error) {
	if degraded {
		if _, err := b.t.run(ctx, convertBtrfs(b.s, mount)...); err != nil {
			return verified{}, err
		}
	}
	v, err := scrub(ctx, mount, b.s.disks())
	if err != nil || v.Uncorrectable > 0 {
		return v, err
	}
	_, err = b.t.run(ctx, "btrfs", "device", "stats", "--reset", mount)
	return v, err
}
