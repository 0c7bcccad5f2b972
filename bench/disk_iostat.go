package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// iostatSeconds is the time for which the probe and iostat measure the same device.
	iostatSeconds = 8
	// iostatNear is the largest relative difference of their columns. Both begin and end about 10 ms apart.
	iostatNear = 0.05
)

// compareIostat compares the device statistics of the probe with those of iostat -x over the same seconds.
func compareIostat(ctx context.Context, w io.Writer, dir string) error {
	s := benchSpec(dir)
	s.Profiles, s.Operations, s.Ramp = []string{spec.ProbeRandom}, []string{disk.Mixed}, []int{4}
	s.Duration = iostatSeconds * 1e9
	storage, err := deviceOf(dir)
	if err != nil {
		return err
	}
	type answer struct {
		columns map[string]float64
		err     error
	}
	answers := make(chan answer, 1)
	p, err := probeWith(ctx, s, func(text string) {
		if !strings.HasPrefix(text, "random") {
			return
		}
		begun := make(chan struct{})
		go func() {
			columns, err := disktest.Iostat(ctx, storage, iostatSeconds, func() { close(begun) })
			if columns == nil {
				select {
				case <-begun:
				default:
					close(begun)
				}
			}
			answers <- answer{columns, err}
		}()
		<-begun
	})
	if err != nil {
		return err
	}
	a := <-answers
	if a.err != nil {
		fmt.Fprintf(w, "  device statistics compared with iostat -x: not measured: %v\n", a.err)
		return nil
	}
	for _, d := range p.Steps[len(p.Steps)-1].Devices {
		if d.Name == storage {
			worst, name := iostatWorst(d, a.columns)
			fmt.Fprintf(w, "  device statistics of %s compared with iostat -x over the same %d s: r/s %.0f and %.0f, w/s %.0f and "+
				"%.0f, f/s %.0f and %.0f, aqu-sz %.2f and %.2f, %%util %.1f and %.1f;\n    largest difference: %s, %.1f %%: %s "+
				"(goal %.0f %%)\n",
				d.Name, iostatSeconds, d.Reads, a.columns["r/s"], d.Writes, a.columns["w/s"], d.Flushes, a.columns["f/s"],
				d.Queue, a.columns["aqu-sz"], d.Util, a.columns["util"],
				name, 100*worst, verdict(worst < iostatNear), 100*iostatNear)
			return nil
		}
	}
	return errors.New("the probe has no statistics of " + storage)
}

// iostatWorst is the largest relative difference of the columns that reads and writes change.
func iostatWorst(d record.ProbeDevice, columns map[string]float64) (worst float64, name string) {
	for _, c := range []struct {
		name string
		ours float64
	}{
		{"r/s", d.Reads}, {"w/s", d.Writes}, {"rkB/s", d.ReadKB}, {"wkB/s", d.WriteKB}, {"f/s", d.Flushes},
		{"r_await", d.ReadAwait}, {"w_await", d.WriteAwait},
		{"rareq-sz", d.ReadSize}, {"wareq-sz", d.WriteSize}, {"aqu-sz", d.Queue}, {"util", d.Util},
	} {
		// iostat prints two decimals: 0.07 may be 0.065.
		off := max(0, math.Abs(c.ours-columns[c.name])-0.005) / max(columns[c.name], 0.005)
		if off >= worst {
			worst, name = off, c.name
		}
	}
	return worst, name
}

// deviceOf is the device of a directory's filesystem.
func deviceOf(dir string) (string, error) {
	s, err := device.Here().Storage(dir)
	if err != nil {
		return "", err
	}
	if len(s.Devices) == 0 {
		return "", fmt.Errorf("the kernel shows no device below %s", dir)
	}
	return s.Devices[0].Name, nil
}
