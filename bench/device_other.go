//go:build !linux

package main

import (
	"context"
	"fmt"
	"io"
)

func deviceLatency(_ context.Context, w io.Writer, _ config) error {
	fmt.Fprintln(w, "\nLatency of virtual disks: not measured, it needs Linux")
	return nil
}
