//go:build !unix

package main

import "os"

// markSignals are the signals that mark a moment. os.Kill never arrives; an empty list would mean all signals.
func markSignals() []os.Signal { return []os.Signal{os.Kill} }
