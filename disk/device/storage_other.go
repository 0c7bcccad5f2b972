//go:build !linux

package device

import "github.com/plimsoll-bench/plimsoll/record"

// Storage returns nothing, because other systems show neither mounts nor devices like Linux.
func (System) Storage(string, ...string) (record.ProbeStorage, error) {
	return record.ProbeStorage{Devices: []record.ProbeBlock{},
		Unseen: []string{"the storage, which Plimsoll reads on Linux only"}}, nil
}

func (System) deviceOf(string) string { return "" }

func deviceAt(string) string { return "" }

func (loopFile) at(string) bool { return false }
