//go:build !linux

package doctor

import (
	"errors"

	"github.com/plimsoll-bench/plimsoll/disk/device"
)

// Look knows Linux only: what MongoDB recommends is about it.
func Look(device.System, string) (*Host, error) {
	return nil, errors.New("the host can be looked at on Linux only; give --uri alone to look at a server")
}
