package topology

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// A host has no more sessions than its memory holds beside shared_buffers and the other processes.
func TestSessionsFitIntoTheHost(t *testing.T) {
	for memory, want := range map[int64]int{0: 64, 64 << 20: 4, 256 << 20: 5, 512 << 20: 23, 1 << 30: 58, 8 << 30: 64} {
		got := sessionsIn(memory)
		if used := int64(got)*sessionMemory + memory/4 + baseMemory; got != want || memory >= 256<<20 && used > memory {
			t.Errorf("%d bytes: %d sessions with %d bytes, want %d", memory, got, used, want)
		}
	}
}

// The defaults of a lab leave the number of sessions to the memory of its hosts, and a person decides otherwise.
func TestSessionsOfALab(t *testing.T) {
	for asked, want := range map[spec.Count]int{0: 23, 40: 40} {
		lab := spec.Lab{Engine: spec.Engine{Name: spec.LabDocumentDB, Connections: asked},
			Hosts: spec.Hosts{Mode: spec.LabIsolated, Memory: 512 << 20}}
		if err := lab.Complete(); err != nil {
			t.Fatal(err)
		}
		if got := (&documentDB{site: Site{Spec: lab}}).connections(); got != want {
			t.Errorf("%d asked: %d sessions, want %d", asked, got, want)
		}
	}
}
