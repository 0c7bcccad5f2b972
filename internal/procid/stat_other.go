//go:build !linux

package procid

import "errors"

// Stat fails: only Linux has /proc/PID/stat.
func Stat(int) ([]string, error) { return nil, errors.New("this system has no /proc") }
