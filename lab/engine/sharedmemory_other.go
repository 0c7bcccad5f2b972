//go:build !linux

package engine

// removeSharedMemory has nothing to do: documentdb runs on Linux only.
func removeSharedMemory(string) {}
