package main

import (
	"errors"
	"testing"

	"github.com/plimsoll-bench/plimsoll/run"
)

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

// A study that cannot begin for lack of a program says the same command as its plan.
func TestStudyErrorSaysWhatToInstall(t *testing.T) {
	var e *exitError
	err := studyError(&run.Error{Stage: run.Specification, Err: errors.New("storage: xfs: mkfs.xfs (package xfsprogs) is not installed")})
	if !errors.As(err, &e) || e.code != exitUsage || e.hint != "install the missing packages: apt-get install xfsprogs" {
		t.Errorf("%+v", e)
	}
	if err := studyError(errors.New("something else")); errors.As(err, &e) && e.hint != "" {
		t.Errorf("%+v", e)
	}
}
