package faultfs

import (
	"context"
	"errors"
)

// Serve serves virtual disks until the context ends.
func Serve(ctx context.Context, o Options) error { return errors.New("not yet") }

// Remove unmounts what a faultfs that was killed left at a mount point.
func Remove(ctx context.Context, mount string) error { return errors.New("not yet") }
