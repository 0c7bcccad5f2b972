package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

// A server of an earlier boot is removed. One of another PID namespace is in use as long as its data directory is
// locked.
func TestOwnerElsewhere(t *testing.T) {
	j := journal{DataDir: t.TempDir()}
	j.Owner.set(procid.Self())
	j.Owner.Boot = "00000000-0000-0000-0000-000000000000"
	if inUse(j) {
		t.Error("a server of an earlier boot is in use")
	}
	j.Owner.set(procid.Self())
	j.Owner.Namespace = "pid:[1]"
	unlock, err := lockDir(j.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if !inUse(j) {
		t.Error("its data directory is locked and the server is not in use")
	}
	unlock()
	if inUse(j) {
		t.Error("its data directory is not locked and the server is in use")
	}
	j.Created = time.Now()
	if !inUse(j) {
		t.Error("a server that is being made is not in use")
	}
}

// A cleanup ends the processes that a killed Plimsoll left, and no process that has got the id of one of them.
func TestCleanupEndsLeftProcesses(t *testing.T) {
	home := layout{t.TempDir()}
	var cmds []*exec.Cmd
	j := journal{Schema: journalSchema, ID: "mongod-1", Engine: Mongod, Temporary: true, Owner: entry{PID: 1 << 30, Start: 1}}
	for i := range 2 {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go cmd.Wait()
		t.Cleanup(func() { cmd.Process.Kill() })
		cmds = append(cmds, cmd)
		id := procid.Of(cmd.Process.Pid)
		id.Ticks += uint64(i) // the second is another process now
		j.Processes = append(j.Processes, entry{Role: "sleep"})
		j.Processes[i].set(id)
	}
	right, other := procid.Of(cmds[0].Process.Pid), procid.Of(cmds[1].Process.Pid)
	j.DataDir = filepath.Join(home.run(j.ID), "data")
	if err := os.MkdirAll(j.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(home.state(j.ID), &j); err != nil {
		t.Fatal(err)
	}
	removed, err := Cleanup(home.dir)
	if err != nil || len(removed) != 1 || len(removed[0].Killed) != 1 || removed[0].Killed[0] != right.PID {
		t.Errorf("cleanup did %+v, error %v", removed, err)
	}
	if right.Alive() || !other.Alive() {
		t.Errorf("the server's process is alive: %v, the other one: %v", right.Alive(), other.Alive())
	}
	if _, err := os.Stat(home.run(j.ID)); !os.IsNotExist(err) {
		t.Errorf("its directory is left: %v", err)
	}
}
