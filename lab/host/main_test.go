package host_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// The test binary is also the programs that run on hosts, and the lab that gets killed.
const helperVar = "PLIMSOLL_TEST_HOST_HELPER" // what to be, and its arguments, one per line

func TestMain(m *testing.M) {
	if text := os.Getenv(helperVar); text != "" {
		arg := strings.Split(text, "\n")
		if err := helpers[arg[0]](arg[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var helpers = map[string]func(arg []string) error{
	"serve": serve, "count": count, "lab": makeLab,
}

// helper describes a helper as a program.
func helper(name string, arg ...string) process.Spec {
	return process.Spec{Role: name, Path: "/proc/self/exe", Log: os.Stderr,
		Env: append(os.Environ(), helperVar+"="+strings.Join(append([]string{name}, arg...), "\n"))}
}

// serve answers each line with the same line, and to "flood" sends as much as it can. What comes after "sink" it only
// reads.
func serve(arg []string) error {
	l, err := net.Listen("tcp", arg[0])
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			for in := bufio.NewReader(c); ; {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				switch line {
				case "flood\n":
					for block := make([]byte, 64<<10); err == nil; {
						_, err = c.Write(block)
					}
				case "sink\n":
					_, _ = io.Copy(io.Discard, in)
				default:
					_, _ = io.WriteString(c, line)
				}
			}
		}()
	}
}

// count sends lines on one connection and writes how many came back to a file.
func count(arg []string) error {
	c, err := net.Dial("tcp", arg[0])
	if err != nil {
		return err
	}
	in := bufio.NewReader(c)
	for i := 1; ; i++ {
		if _, err := fmt.Fprintln(c, i); err != nil {
			return err
		}
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
		if err := os.WriteFile(arg[1]+".new", fmt.Appendln(nil, i), 0o600); err != nil {
			return err
		}
		if err := os.Rename(arg[1]+".new", arg[1]); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// makeLab makes hosts of a mode with processes on them, says so and waits to be killed.
func makeLab(arg []string) error {
	ctx := context.Background()
	j, err := journal.Open(arg[2])
	if err != nil {
		return err
	}
	g, err := host.NewMaker(ctx, host.MakerOptions{Mode: arg[0], Lab: arg[1], Dir: arg[2], Home: arg[3], Journal: j})
	if err != nil {
		return err
	}
	for _, name := range []string{"host1", "host2"} {
		h, err := g.Make(ctx, name, "member", host.Limits{})
		if err != nil {
			return err
		}
		if _, err := h.Port(); err != nil {
			return err
		}
		file := filepath.Join(h.Dir(), "child")
		if _, err := h.Start(ctx, shellSpec("sleep 600 & echo $! >"+file+"; wait")); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	select {}
}
