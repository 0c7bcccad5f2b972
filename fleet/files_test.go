package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// slowCoordinator is the wire of an agent whose coordinator keeps nothing before the window is full.
type slowCoordinator struct {
	Wire
	t     *testing.T
	agent *server
	sent  int64
}

func (w *slowCoordinator) Send(frame []byte) {
	var m message
	if err := json.Unmarshal(frame, &m); err != nil {
		w.t.Error(err)
	}
	w.sent += int64(len(m.Chunk.Data))
	kept := w.agent.kept.Load()
	if w.sent > kept+windowBytes {
		w.t.Errorf("%d bytes were sent, of which %d are kept", w.sent, kept)
	}
	if w.sent == kept+windowBytes {
		go w.agent.keptUntil(kept + windowBytes/2)
	}
}

// Files wait for a coordinator that does not keep them, and end with the wire.
func TestWindowOfFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "samples"), make([]byte, 2*windowBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &server{orphan: make(chan struct{}), room: make(chan struct{}, 1)}
	w := &slowCoordinator{t: t, agent: c}
	c.wire = w
	if err := c.handOver(dir); err != nil || w.sent != 2*windowBytes {
		t.Errorf("%d bytes were sent: %v", w.sent, err)
	}
	c = &server{orphan: make(chan struct{}), wire: &slowCoordinator{t: t, agent: &server{}}} // it keeps nothing
	close(c.orphan)
	if err := c.handOver(dir); err == nil {
		t.Error("files were handed over to a wire that has ended")
	}
}
