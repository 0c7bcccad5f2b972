//go:build !linux

package embedded

// fileSystem is known on Linux only.
func fileSystem(string) (name string, volatile bool) { return "unknown", false }
