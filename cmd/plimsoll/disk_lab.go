package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

type probePlace struct {
	dir string
	// volume describes the volume of a lab; cutter can cut its power, or is nil.
	volume string
	cutter disk.PowerCutter
	close  func()
}

// findPlace resolves DIR or lab:NAME/VOLUME.
func findPlace(ctx context.Context, env *environment, text string, force bool) (probePlace, error) {
	name, ok := spec.LabOf(text)
	if !ok {
		return probePlace{dir: text, close: func() {}}, nil
	}
	name, volume, _ := strings.Cut(name, "/")
	if name == "" || strings.Contains(volume, "/") {
		return probePlace{}, usageError("%s: write lab:NAME/VOLUME; plimsoll lab status NAME shows the volumes", text)
	}
	h, err := openLab(ctx, env, name)
	if err != nil {
		return probePlace{}, err
	}
	p, err := placeOn(ctx, h, volume, force)
	if err != nil {
		_ = h.Close()
		return probePlace{}, err
	}
	p.close = func() { _ = h.Close() }
	return p, nil
}

// placeOn finds a volume of a lab. Without a name, the lab must have exactly one.
func placeOn(ctx context.Context, h *lab.Handle, name string, force bool) (probePlace, error) {
	l, err := h.Describe(ctx, false)
	if err != nil {
		return probePlace{}, labError(err)
	}
	if name == "" && len(l.Volumes) == 1 {
		name = l.Volumes[0].Name
	}
	if name == "" {
		return probePlace{}, usageError("the lab %s has %s: write lab:%[1]s/VOLUME", l.Name, figure.Plural(len(l.Volumes), "volume"))
	}
	v, err := h.Volume(ctx, name)
	if err != nil {
		return probePlace{}, labError(err)
	}
	if l.Engine != spec.LabNone && !force {
		return probePlace{}, withExit(exitUsage, &files.RefusedError{Forced: true, Text: fmt.Sprintf(
			"the volume %s belongs to a server of the lab %s, and a probe slows the server down: use a lab without a database (plimsoll lab up --engine none), or --force", v.Name, l.Name)})
	}
	p := probePlace{dir: v.Mount, volume: fmt.Sprintf("%s of the lab %s: %s", v.Name, l.Name, report.Clean(v.Policy))}
	if l.Engine == spec.LabNone && l.Specification.Storage.Faults {
		for _, m := range l.Members {
			if m.Volume == v.Name {
				p.cutter = &labCutter{h: h, host: m.Host}
			}
		}
	}
	return p, nil
}

// labCutter cuts the power of the host of a volume. The lab unmounts the volume, and mounts it again when power
// returns.
type labCutter struct {
	h    *lab.Handle
	host string
	id   int
}

// powerBackAfter is the time after which the lab restores power, in case the probe was killed.
const powerBackAfter = 10 * time.Second

func (c *labCutter) Cut(ctx context.Context, _ string) (discarded int64, err error) {
	f, err := c.h.Fail(ctx, spec.Fault{Action: spec.Action{Name: fault.PowerLoss, Target: c.host}}, powerBackAfter)
	c.id = f.ID
	if err != nil {
		return 0, err
	}
	counters, err := c.h.Counters(ctx)
	for _, d := range counters.Disks {
		if d.Host == c.host {
			discarded += d.Stats.Undone
		}
	}
	return discarded, err
}

func (c *labCutter) Return(ctx context.Context, _ string) error {
	if c.id == 0 {
		return errors.New("no power was cut")
	}
	_, err := c.h.Heal(ctx, lab.Healing{ID: c.id})
	if err == nil {
		return nil
	}
	l, lerr := c.h.Describe(ctx, false)
	if lerr == nil && !slices.ContainsFunc(l.Faults, func(f record.LabFault) bool { return f.ID == c.id }) {
		return nil // the lab has restored power already
	}
	return fmt.Errorf("%w; try again with: plimsoll lab revert %s %d", err, c.h.Name(), c.id)
}

func (c *labCutter) Covers() string {
	return "the filesystem, its mount options and its repair after the host lost power, down to the virtual disks"
}

func (c *labCutter) Blind() string {
	return "the real device, and disks of the volume on other hosts: the power of the virtual disks of " + c.host + " was cut"
}
