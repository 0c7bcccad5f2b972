package run

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

func TestCheckMemory(t *testing.T) {
	asked := spec.Run{Load: spec.Load{Workers: 1_000_000}}
	if err := checkMemory(asked, 8<<30); err == nil || !strings.Contains(err.Error(), "Use at most 349,525") {
		t.Errorf("a million workers in 8 GiB: %v", err)
	}
	if err := checkMemory(asked, 64<<30); err != nil {
		t.Error(err)
	}
	if err := checkMemory(asked, 0); err != nil {
		t.Errorf("the memory is not known: %v", err)
	}
	stages := spec.Run{Load: spec.Load{Workers: 1, Stages: []spec.Stage{{Workers: 1_000_000}}}}
	if checkMemory(stages, 8<<30) == nil {
		t.Error("workers of a stage are not counted")
	}
}
