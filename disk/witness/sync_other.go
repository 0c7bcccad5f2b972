//go:build !linux

package witness

import "os"

// dataSync makes a file durable.
func dataSync(f *os.File) error { return f.Sync() }
