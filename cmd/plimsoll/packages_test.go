package main

import "testing"

// One command installs what all parts of a plan lack.
func TestInstallLine(t *testing.T) {
	got := installLine("part a: mkfs.xfs (package xfsprogs) is not installed\nmkfs.btrfs (package btrfs-progs) is not installed",
		"this kernel has no LVM", "part b: mkfs.xfs (package xfsprogs) is not installed")
	if want := "apt-get install btrfs-progs xfsprogs"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := installLine("all is there", ""); got != "" {
		t.Errorf("got %q", got)
	}
}
