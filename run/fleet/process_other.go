//go:build !unix

package fleet

import "os/exec"

// attach does nothing: a process notices by the end of its input that this one is gone.
func attach(*exec.Cmd) {}

// onOwnThread runs f in a goroutine.
func onOwnThread(f func()) { go f() }
