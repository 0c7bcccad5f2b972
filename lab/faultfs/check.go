package faultfs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

var (
	kinds     = []string{Dead, Hang, Slow, Error, Full, Torn, Lie, Corrupt} // in the order in which they apply
	ops       = []string{"read", "write", "flush"}
	validName = expression.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

// errnos are the errors that real disks and their filesystems return.
var errnos = map[string]syscall.Errno{
	"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EROFS": syscall.EROFS, "ENXIO": syscall.ENXIO,
	"ENODEV": syscall.ENODEV, "ETIMEDOUT": syscall.ETIMEDOUT, "EINVAL": syscall.EINVAL, "ENOMEM": syscall.ENOMEM,
	"EOPNOTSUPP": syscall.EOPNOTSUPP, "EAGAIN": syscall.EAGAIN, "EDQUOT": syscall.EDQUOT, "EFBIG": syscall.EFBIG,
}

func checkName(name string) error {
	if !validName().MatchString(name) || name == "all" {
		return fmt.Errorf("%q cannot be the name of a disk. Use up to 100 letters, digits, '.', '-' and '_', "+
			"beginning with a letter or digit; the name all is reserved", name)
	}
	return nil
}

// maxDiskSize is 64 TiB. Common filesystems do not support larger files.
const maxDiskSize = 64 << 40

func checkSize(size int64) error {
	if size <= 0 || size%512 != 0 || size > maxDiskSize {
		return fmt.Errorf("a disk cannot have %d bytes: the size must be a multiple of 512, at least 512 and at most 64 TiB", size)
	}
	return nil
}

func checkDevice(d Device, c *Cache) error {
	if c != nil {
		if c.Size <= 0 {
			return fmt.Errorf("a cache cannot have %d bytes: the size must be positive", c.Size)
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
		{"flush latency", int64(d.FlushLatency), 3600 * second},
		{"sequential latency", int64(d.SequentialLatency), 3600 * second},
		{"read rate", d.ReadRate, 1 << 50}, {"write rate", d.WriteRate, 1 << 50},
		{"parallel", int64(d.Parallel), 4096}, {"volatile", d.Volatile, maxDiskSize},
	} {
		if x.value < 0 || x.value > x.most {
			return fmt.Errorf("%s: %d is not between 0 and %d", x.name, x.value, x.most)
		}
	}
	// At lower rates, one request of 1 MiB would take a quarter of an hour.
	if d.ReadRate > 0 && d.ReadRate < 1024 || d.WriteRate > 0 && d.WriteRate < 1024 {
		return errors.New("a rate cannot be below 1024 bytes per second. Use a longer latency, or 0 for no limit")
	}
	return nil
}

func checkKind(kind string) error {
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("there is no fault %q%s (faults: %s)", kind, nearest.DidYouMean(kind, kinds), strings.Join(kinds, ", "))
	}
	return nil
}

// Check returns an error if the fault is not valid.
func (f Fault) Check() error {
	if err := checkKind(f.Kind); err != nil {
		return err
	}
	for _, o := range f.Ops {
		if !slices.Contains(ops, o) {
			return fmt.Errorf("there is no request %q%s (requests: read, write, flush)", o, nearest.DidYouMean(o, ops))
		}
		if !slices.Contains(opsOf[f.Kind], o) {
			return fmt.Errorf("the fault %s never affects %s requests, only: %s", f.Kind, o,
				strings.Join(opsOf[f.Kind], ", "))
		}
	}
	if _, ok := errnos[f.Errno]; f.Errno != "" && !ok {
		return fmt.Errorf("a disk does not return %q (errors: %s)", f.Errno,
			strings.Join(slices.Sorted(maps.Keys(errnos)), ", "))
	}
	switch {
	case f.Errno != "" && f.Kind != Error:
		return fmt.Errorf("the fault %s does not accept an errno; only %s does", f.Kind, Error)
	case f.Delay < 0 || f.Limit < 0:
		return errors.New("a delay or a limit cannot be below 0")
	case f.Kind == Slow && f.Delay == 0:
		return fmt.Errorf("the fault %s needs a delay", Slow)
	case f.Delay != 0 && f.Kind != Slow:
		return fmt.Errorf("the fault %s does not accept a delay; only %s does", f.Kind, Slow)
	case !(f.Probability >= 0 && f.Probability <= 1): // so that NaN is refused too
		return fmt.Errorf("the probability %v is not between 0 and 1", f.Probability)
	case f.From < 0 || f.To < 0 || f.To != 0 && f.To <= f.From:
		return fmt.Errorf("the range from %d to %d is not valid: from must be at least 0, and to above from, or 0 for the end", f.From, f.To)
	}
	return nil
}

// opsOf are the requests that each kind can affect. Without [Fault.Ops], it affects all of them, except that Corrupt
// then affects reads only.
var opsOf = map[string][]string{
	Dead: ops, Hang: ops, Slow: ops, Error: ops, Full: {"write"}, Torn: {"write"}, Lie: {"flush"},
	Corrupt: {"read", "write"},
}

// Check returns an error if the power cut is not valid.
func (p PowerCut) Check() error {
	if !(p.Keep >= 0 && p.Keep <= 1) {
		return fmt.Errorf("the surviving share %v is not between 0 and 1", p.Keep)
	}
	if p.Block < 0 || p.Block%512 != 0 {
		return fmt.Errorf("the size of pieces, %d bytes, is not a multiple of 512", p.Block)
	}
	return nil
}
