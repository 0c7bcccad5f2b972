package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/plimsoll-bench/plimsoll/store/null"
)

// roleVariable has the role of a child: this program starts itself again for every client and responder, because
// processor time and memory are known for whole processes only.
const roleVariable = "PLIMSOLL_BENCH_ROLE"

const (
	roleResponder = "responder"
	roleClient    = "client"
)

func playRole(role string, args []string) error {
	var arg string
	if len(args) > 0 {
		arg = args[0]
	}
	switch role {
	case roleResponder:
		return playResponder()
	case roleClient:
		return playClient(arg)
	case roleCoordinator:
		var agents int
		if err := json.Unmarshal([]byte(arg), &agents); err != nil {
			return err
		}
		return playCoordinator(agents)
	case roleAgents:
		var args crowdArgs
		if err := json.Unmarshal([]byte(arg), &args); err != nil {
			return err
		}
		return playAgents(args)
	case roleFaults:
		var base string
		if err := json.Unmarshal([]byte(arg), &base); err != nil {
			return err
		}
		return playFaults(base)
	}
	return fmt.Errorf("unknown role %q", role)
}

// playResponder answers at once, until standard input ends.
func playResponder() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("open a loopback port: %w", err)
	}
	fmt.Println(ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		cancel()
	}()
	return null.Serve(ctx, ln, null.Options{})
}

func startResponder(ctx context.Context) (addr string, stop func(), err error) {
	cmd, err := child(ctx, roleResponder, nil)
	if err != nil {
		return "", nil, err
	}
	return startServer(cmd)
}

// startServer starts a program that prints its host:port and ends with its standard input.
func startServer(cmd *exec.Cmd) (addr string, stop func(), err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start a responder: %w", err)
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("read the address that the responder prints: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// child returns this program in a role, with arg as JSON.
func child(ctx context.Context, role string, arg any) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(arg)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, string(text))
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

func runJSON(cmd *exec.Cmd, into any) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Path, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("%s printed %q: %w", cmd.Path, out, err)
	}
	return nil
}
