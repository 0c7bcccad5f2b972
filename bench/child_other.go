//go:build !linux

package main

import "syscall"

// childAttributes have nothing to ask for here.
func childAttributes() *syscall.SysProcAttr { return nil }
