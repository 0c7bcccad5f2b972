package volume

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

// The test binary plays other programs when it is told to by this variable: the server of disks, and a maker that is
// killed.
const playVariable = "PLIMSOLL_VOLUME_TEST"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "faultfs" {
		playFaultfs(os.Args[2:])
		return
	}
	if os.Getenv(playVariable) == "maker" {
		if err := playMaker(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// playFaultfs serves disks as `plimsoll faultfs` does.
func playFaultfs(args []string) {
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := faultfs.Serve(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
