//go:build !linux

package safeopen

import "os"

const holesAreSeen = false

// hasData takes a file for what its size says: this system is not asked about holes.
func hasData(*os.File, int64, int64) bool { return true }
