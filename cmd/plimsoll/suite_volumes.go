package main

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/suite"
)

// suiteVolumes finds the volumes of labs that the probes of a suite start.
type suiteVolumes struct {
	home string
}

var _ suite.Volumes = (*suiteVolumes)(nil)

func (s *suiteVolumes) Directory(ctx context.Context, name string) (string, error) {
	p, err := s.place(ctx, name)
	if err != nil {
		return "", err
	}
	p.close()
	return p.dir, nil
}

func (s *suiteVolumes) Cutter(ctx context.Context, name string) (disk.PowerCutter, func(), error) {
	p, err := s.place(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if p.cutter == nil {
		p.close()
		return nil, nil, fmt.Errorf("the disks of the lab %s do not record flushes: set storage.faults in its specification", name)
	}
	return p.cutter, p.close, nil
}

func (s *suiteVolumes) place(ctx context.Context, name string) (probePlace, error) {
	h, err := lab.Open(ctx, s.home, name)
	if err != nil {
		return probePlace{}, err
	}
	p, err := placeOn(ctx, h, "", false)
	if err != nil {
		_ = h.Close()
		return probePlace{}, fmt.Errorf("cannot use the volume of the lab %s: %w", name, err)
	}
	p.close = func() { _ = h.Close() }
	return p, nil
}
