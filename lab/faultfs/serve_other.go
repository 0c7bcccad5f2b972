//go:build !linux

package faultfs

import (
	"context"
	"errors"
)

var errLinux = errors.New("faultfs needs Linux with FUSE. Run it on a Linux machine")

// Serve needs Linux.
func Serve(context.Context, Options) error { return errLinux }
