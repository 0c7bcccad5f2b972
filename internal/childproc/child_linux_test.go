package childproc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

// The test binary also plays a process that starts a child and is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "start-and-wait" {
		cmd := exec.Command("sleep", "1000")
		if err := Start(cmd); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// alive says whether a process is there within a time, and waits for its end.
func alive(pid int, within time.Duration) bool {
	id := procid.Of(pid)
	for limit := time.Now().Add(within); id.Alive(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			return true
		}
	}
	return false
}

func TestChildEndsWithItsParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self, "start-and-wait")
	out, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 20)
	n, err := out.Read(line)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	_ = parent.Process.Kill() // SIGKILL
	if err != nil || pid == 0 {
		t.Fatalf("the parent printed %q: %v", line[:n], err)
	}
	if alive(pid, time.Minute) {
		t.Errorf("process %d lives longer than its parent", pid)
	}
	_ = parent.Wait()
}

// A goroutine that is locked to a thread ends it. Children that it started with Start live on.
func TestChildOutlivesTheThreadOfItsCaller(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		started <- Start(cmd)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if !alive(cmd.Process.Pid, 200*time.Millisecond) {
		t.Error("the child ended with the thread that requested its start")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
