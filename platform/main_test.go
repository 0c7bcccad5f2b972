package platform

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// patience bounds whatever a test waits for. It is long: the machine may be busy with other tests.
const patience = 10 * time.Minute

// The test binary plays the programs that a lab starts, and one that injects a fault and is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		var err error
		switch os.Args[1] {
		case "lab-supervisor":
			err = lab.Supervise(ctx, os.Args[2])
		case "faultfs":
			err = playFaultfs(ctx, os.Args[2:])
		case "inject-and-wait":
			err = playInjector(ctx, os.Args[2], os.Args[3], os.Args[4:]...)
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// playFaultfs serves disks as `plimsoll faultfs` does.
func playFaultfs(ctx context.Context, args []string) error {
	var o faultfs.Options
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "--dir":
			o.Data = args[i+1]
		case "--mount":
			o.Mount = args[i+1]
		case "--socket":
			o.Socket = args[i+1]
		}
	}
	return faultfs.Serve(ctx, o)
}

// playInjector breaks some things for a short time, says so, and waits to be killed.
func playInjector(ctx context.Context, home, name string, what ...string) error {
	h, err := lab.Open(ctx, home, name)
	if err != nil {
		return err
	}
	for _, text := range what {
		i, err := OfLab(h).Fault(spec.Fault{Action: spec.ParseAction(text), Delay: delayOf(text)}, 3*time.Second)
		if err != nil {
			return err
		}
		if _, err := i.Inject(ctx); err != nil {
			return err
		}
	}
	fmt.Println("injected")
	time.Sleep(time.Hour)
	return nil
}

// delayOf is how much later a slow disk answers.
func delayOf(text string) spec.Duration {
	if strings.HasPrefix(text, fault.DiskSlow) {
		return spec.Duration(50 * time.Millisecond)
	}
	return 0
}

// upLab makes a lab that is removed with the test.
func upLab(t *testing.T, asked spec.Lab) (h *lab.Handle, home string) {
	t.Helper()
	if _, ok := enginetest.DocumentDB(t); !ok {
		return nil, ""
	}
	installed, err := engine.DefaultHome(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	home = enginetest.Home(t, installed)
	asked.Engine.Name = "documentdb"
	asked.Deadline = spec.Duration(patience)
	if err := asked.Complete(); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err = lab.Up(t.Context(), asked, lab.Options{Home: home, Executable: self})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := lab.Down(ctx, home, asked.Name, nil); err != nil {
			t.Errorf("the lab cannot be removed: %v", err)
		}
	})
	return h, home
}
