//go:build !linux

package doctor

import (
	"errors"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	facts "github.com/plimsoll-bench/plimsoll/server"
)

// Look works only on Linux, as MongoDB's recommendations.
func Look(device.System, string) (*Host, error) {
	return nil, errors.New("the doctor can read a host only on Linux; give only --uri to check a server")
}

// Running proves nothing on systems without /proc.
func Running(device.System, facts.Facts) *Process { return nil }
