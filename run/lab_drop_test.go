package run

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

func TestShardedLabIsNotDropped(t *testing.T) {
	l := &labTarget{name: "two", before: &record.Lab{}}
	var none *labTarget
	if none.mayDrop() != nil || l.mayDrop() != nil {
		t.Error("what is not sharded can be dropped")
	}
	l.before.Specification.Topology.Kind = record.LabSharded
	if err := l.mayDrop(); err == nil || !strings.Contains(err.Error(), "sharding would go") {
		t.Errorf("got %v", err)
	}
}
