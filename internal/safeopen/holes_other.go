//go:build !linux

package safeopen

import "os"

const holesAreSeen = false

// hasData assumes that a file has no holes.
func hasData(*os.File, int64, int64) bool { return true }
