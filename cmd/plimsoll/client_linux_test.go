package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
)

// A load process outlives the signals that a terminal or a service manager sends to all processes of a run: its
// parent is told, and lets the operations under way end. The end of its input ends it.
func TestClientIgnoresSignals(t *testing.T) {
	cmd := clientLauncher()(permit.With(t.Context(), permit.All))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	want := []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM}
	var mask uint64
	for deadline := time.Now().Add(2 * time.Minute); !ignores(mask, want) &&
		time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if mask, err = ignored(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	if !ignores(mask, want) {
		t.Errorf("it ignores the signals %b, want %v among them", mask, want)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-ended: // with an error: it had no order
	case <-time.After(2 * time.Minute):
		t.Error("it goes on although its input ended")
		_ = cmd.Process.Kill()
	}
}

func ignores(mask uint64, signals []syscall.Signal) bool {
	for _, s := range signals {
		if mask&(1<<(uint(s)-1)) == 0 {
			return false
		}
	}
	return true
}

// ignored returns which signals a process ignores, the lowest bit being signal 1.
func ignored(pid int) (uint64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if mask, ok := strings.CutPrefix(lines.Text(), "SigIgn:"); ok {
			return strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		}
	}
	return 0, fmt.Errorf("process %d does not say which signals it ignores", pid)
}
