package faultfs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

var (
	kinds     = []string{Dead, Hang, Slow, Error, Full, Torn, Lie, Corrupt} // in the order in which they are looked at
	ops       = []string{"read", "write", "flush"}
	validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

// errnos are the errors that a disk, or a filesystem of a disk, really gives.
var errnos = map[string]syscall.Errno{
	"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EROFS": syscall.EROFS, "ENXIO": syscall.ENXIO,
	"ENODEV": syscall.ENODEV, "ETIMEDOUT": syscall.ETIMEDOUT, "EINVAL": syscall.EINVAL, "ENOMEM": syscall.ENOMEM,
	"EOPNOTSUPP": syscall.EOPNOTSUPP, "EAGAIN": syscall.EAGAIN, "EDQUOT": syscall.EDQUOT, "EFBIG": syscall.EFBIG,
}

func checkName(name string) error {
	if !validName.MatchString(name) || name == "all" {
		return fmt.Errorf("%q is no name for a disk: up to 100 letters, digits, dots, dashes and underscores, beginning with a letter or digit; all means every disk", name)
	}
	return nil
}

// maxDiskSize is 64 TiB, beyond which common filesystems cannot hold the file.
const maxDiskSize = 64 << 40

func checkSize(size int64) error {
	if size <= 0 || size%512 != 0 || size > maxDiskSize {
		return fmt.Errorf("a disk of %d bytes: the size must be a multiple of 512, at least 512 and at most 64 TiB", size)
	}
	return nil
}

func checkDevice(d Device, c *Cache) error {
	if c != nil {
		if c.Size <= 0 {
			return fmt.Errorf("a cache of %d bytes: the size must be positive", c.Size)
		}
		if err := checkDevice(c.Device, nil); err != nil {
			return fmt.Errorf("cache: %w", err)
		}
	}
	for _, x := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"read latency", int64(d.ReadLatency), 3600 * second}, {"write latency", int64(d.WriteLatency), 3600 * second},
		{"flush latency", int64(d.FlushLatency), 3600 * second}, {"sequential latency", int64(d.SequentialLatency), 3600 * second},
		{"read rate", d.ReadRate, 1 << 50}, {"write rate", d.WriteRate, 1 << 50},
		{"parallel", int64(d.Parallel), 4096}, {"volatile", d.Volatile, maxDiskSize},
	} {
		if x.value < 0 || x.value > x.most {
			return fmt.Errorf("%s: %d is not between 0 and %d", x.name, x.value, x.most)
		}
	}
	// Slower than this, one request of 1 MiB would take a quarter of an hour.
	if d.ReadRate > 0 && d.ReadRate < 1024 || d.WriteRate > 0 && d.WriteRate < 1024 {
		return fmt.Errorf("a rate below 1024 bytes per second: use a longer latency, or 0 for no limit")
	}
	return nil
}

func checkKind(kind string) error {
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("there is no fault %q%s; there are %s", kind, nearest.DidYouMean(kind, kinds), strings.Join(kinds, ", "))
	}
	return nil
}

// Check says what is wrong with a fault.
func (f Fault) Check() error { return checkFault(f) }

// Check says what is wrong with a power cut.
func (p PowerCut) Check() error { return checkCut(p) }

func checkFault(f Fault) error {
	if err := checkKind(f.Kind); err != nil {
		return err
	}
	for _, o := range f.Ops {
		if !slices.Contains(ops, o) {
			return fmt.Errorf("there is no request %q%s; there are read, write and flush", o, nearest.DidYouMean(o, ops))
		}
		if !slices.Contains(opsOf[f.Kind], o) {
			return fmt.Errorf("the fault %s is never about %s requests, only about: %s", f.Kind, o, strings.Join(opsOf[f.Kind], ", "))
		}
	}
	if _, ok := errnos[f.Errno]; f.Errno != "" && !ok {
		return fmt.Errorf("faultfs does not return %q; it returns EIO, ENOSPC, EROFS, ENXIO, ENODEV, ETIMEDOUT and some more", f.Errno)
	}
	switch {
	case f.Errno != "" && f.Kind != Error:
		return fmt.Errorf("the fault %s has no error of its own; only %s has", f.Kind, Error)
	case f.Delay < 0 || f.Limit < 0:
		return fmt.Errorf("a delay or limit below 0")
	case f.Kind == Slow && f.Delay == 0:
		return fmt.Errorf("the fault %s needs a delay", Slow)
	case f.Delay != 0 && f.Kind != Slow:
		return fmt.Errorf("the fault %s has no delay; only %s has", f.Kind, Slow)
	case !(f.Probability >= 0 && f.Probability <= 1): // so that NaN is refused too
		return fmt.Errorf("a probability of %v: it is between 0 and 1", f.Probability)
	case f.From < 0 || f.To < 0 || f.To != 0 && f.To <= f.From:
		return fmt.Errorf("the bytes from %d to %d: from is at least 0, and to is above from, or 0 for the end", f.From, f.To)
	}
	return nil
}

// opsOf are the requests that each kind can be about; without [Fault.Ops] it is about all of them, except that
// corruption is then of reads only.
var opsOf = map[string][]string{
	Dead: ops, Hang: ops, Slow: ops, Error: ops, Full: {"write"}, Torn: {"write"}, Lie: {"flush"}, Corrupt: {"read", "write"},
}

func checkCut(p PowerCut) error {
	if !(p.Keep >= 0 && p.Keep <= 1) {
		return fmt.Errorf("a share of %v survives: it is between 0 and 1", p.Keep)
	}
	if p.Block < 0 || p.Block%512 != 0 {
		return fmt.Errorf("pieces of %d bytes: their size is a multiple of 512", p.Block)
	}
	return nil
}
