package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/plimsoll-bench/plimsoll/store/null"
)

// peers are the programs that Plimsoll is compared with.
type peers struct {
	cloop, slow, goycsb          string // paths
	cloopErr, slowErr, goycsbErr error
}

// report prints the peers that could not be built, and fails if there are any: the comparison is incomplete then.
func (p peers) report(w io.Writer) error {
	if err := errors.Join(p.cloopErr, p.slowErr, p.goycsbErr); err != nil {
		fmt.Fprintln(w, err)
		return errors.New("a peer could not be built")
	}
	return nil
}

func buildPeers(ctx context.Context, dir string) peers {
	p := peers{cloop: filepath.Join(dir, "cloop"), slow: filepath.Join(dir, "slow"), goycsb: filepath.Join(dir, "goycsb")}
	source, err := sourceDir(ctx)
	if err != nil {
		p.cloopErr, p.slowErr, p.goycsbErr = err, err, err
		return p
	}
	p.cloopErr = build("the C loop", ccHint, compile(ctx, p.cloop, filepath.Join(source, "peers", "cloop", "cloop.c")))
	p.slowErr = build("the slow server", ccHint, compile(ctx, p.slow, filepath.Join(source, "peers", "slow", "slow.c")))
	goBuild := exec.CommandContext(ctx, "go", "build", "-o", p.goycsb, ".")
	goBuild.Dir = filepath.Join(source, "peers", "goycsb")
	goBuild.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=") // it is a separate module
	p.goycsbErr = build("go-ycsb", "it needs the Go module proxy once", goBuild)
	return p
}

const ccHint = "install a C compiler, or name one in CC"

func compile(ctx context.Context, program, source string) *exec.Cmd {
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	return exec.CommandContext(ctx, compiler, "-O2", "-o", program, source, "-lpthread", "-lm")
}

func build(what, hint string, cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s could not be built (%s): %w: %s", what, hint, err, lastLine(out))
	}
	return nil
}

func lastLine(out []byte) []byte {
	out = bytes.TrimSpace(out)
	return out[bytes.LastIndexByte(out, '\n')+1:]
}

// sourceDir is this folder, which has the sources of the peers. The program may run from anywhere inside the module,
// so the go command says where the folder is.
func sourceDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/plimsoll-bench/plimsoll/bench").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the sources of the peers (run the benchmark inside the repository): %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// captureMessages returns the first n messages that wire sends for an operation, without the greeting.
func captureMessages(ctx context.Context, operation string, n int) ([][]byte, error) {
	var mu sync.Mutex
	var all [][]byte
	r, err := null.Listen(null.Options{Capture: func(_ int, msg []byte) {
		mu.Lock()
		defer mu.Unlock()
		if isOperation(msg) && len(all) < n {
			all = append(all, bytes.Clone(msg))
		}
	}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	j := job{Addr: r.Addr(), Client: clientWire, Operation: operation, Workers: 1, Operations: int64(n)}
	if _, err := j.run(ctx); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if len(all) == 0 {
		return nil, errors.New("no operation was sent")
	}
	return all, nil
}

// isOperation reports whether an OP_MSG message is a find or an update. The first field of its body names the command.
func isOperation(msg []byte) bool {
	const body = 16 + 4 + 1 + 4 // header, flags, kind of the section, length of the document
	if len(msg) < body+1 || binary.LittleEndian.Uint32(msg[12:]) != 2013 {
		return false
	}
	name, _, _ := bytes.Cut(msg[body+1:], []byte{0})
	return string(name) == "find" || string(name) == "update"
}
