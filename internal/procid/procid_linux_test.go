package procid

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
)

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// A signal reaches the identified process and no other one with the same process ID.
func TestSignalReachesTheOneThatWasMeant(t *testing.T) {
	cmd := sleeper(t)
	right := Of(cmd.Process.Pid)
	mine := errors.New("it does not hold what it should")
	for want, change := range map[error]func(*ID){
		ErrElsewhere: func(id *ID) { id.Boot = "00000000-0000-0000-0000-000000000000" },
		ErrNamespace: func(id *ID) { id.Namespace = "pid:[1]" },
		ErrAnother:   func(id *ID) { id.Ticks++ },
	} {
		wrong := right
		change(&wrong)
		if err := wrong.Signal(syscall.SIGKILL, nil); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", wrong, err, want)
		}
	}
	for _, unknown := range []ID{{}, {PID: 1}, {PID: cmd.Process.Pid}} {
		if err := unknown.Signal(syscall.SIGKILL, nil); err == nil {
			t.Errorf("%+v was signalled", unknown)
		}
	}
	if err := right.Signal(syscall.SIGKILL, func() error { return mine }); !errors.Is(err, mine) {
		t.Errorf("without the proof of the caller: %v", err)
	}
	if !right.Alive() {
		t.Fatal("the process has ended")
	}
	if err := right.Signal(syscall.SIGTERM, nil); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	if err := right.Signal(syscall.SIGTERM, nil); err == nil || right.Alive() {
		t.Error("a process that has ended was signalled")
	}
}
