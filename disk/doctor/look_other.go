//go:build !linux

package doctor

import (
	"errors"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	facts "github.com/plimsoll-bench/plimsoll/server"
)

// Look knows Linux only: what MongoDB recommends is about it.
func Look(device.System, string) (*Host, error) {
	return nil, errors.New("the host can be looked at on Linux only; give --uri alone to look at a server")
}

// Running proves nothing where processes cannot be read.
func Running(device.System, facts.Facts) *Process { return nil }
