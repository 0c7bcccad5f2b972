//go:build !linux

package main

// programs are the programs that this test program can be.
func programs() map[string]func() {
	return map[string]func(){"plimsoll": main, "plimsoll-less": lessUntilKilled}
}
