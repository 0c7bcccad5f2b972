package topology

import "testing"

// A host has no more sessions than its memory holds beside shared_buffers and the other processes.
func TestSessionsFitIntoTheHost(t *testing.T) {
	for memory, want := range map[int64]int{0: 64, 64 << 20: 4, 256 << 20: 5, 512 << 20: 23, 1 << 30: 58, 8 << 30: 64} {
		got := sessionsIn(memory)
		if used := int64(got)*sessionMemory + memory/4 + baseMemory; got != want || memory >= 256<<20 && used > memory {
			t.Errorf("%d bytes: %d sessions with %d bytes, want %d", memory, got, used, want)
		}
	}
}
