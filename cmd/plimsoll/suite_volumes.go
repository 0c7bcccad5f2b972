package main

import (
	"context"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/suite"
)

// suiteVolumes finds the volumes of the labs that the probes of a suite bring up.
type suiteVolumes struct {
	home string
}

var _ suite.Volumes = (*suiteVolumes)(nil)

// Directory implements [suite.Volumes].
func (s *suiteVolumes) Directory(ctx context.Context, name string) (string, error) {
	h, err := lab.Open(ctx, s.home, name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	p, err := placeOn(ctx, h, "", false)
	if err != nil {
		return "", fmt.Errorf("the volume of the lab %s: %w", name, err)
	}
	return p.dir, nil
}
