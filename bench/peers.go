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

// report says what could not be built. That is an error: without its peers the comparison is not what
// was asked for.
func (p peers) report(w io.Writer) error {
	for _, err := range []error{p.cloopErr, p.slowErr, p.goycsbErr} {
		if err != nil {
			fmt.Fprintln(w, err)
		}
	}
	if p.cloopErr != nil || p.slowErr != nil || p.goycsbErr != nil {
		return errors.New("a peer could not be built")
	}
	return nil
}

// buildPeers builds the C loop, the slow server and go-ycsb into dir.
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
	goBuild.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=") // the module stands alone
	p.goycsbErr = build("go-ycsb", "it needs the Go module proxy once", goBuild)
	return p
}

const ccHint = "install a C compiler, or name one in CC"

// compile is the C compiler at work on one file.
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

// sourceDir is this folder, in which the peers' sources are. It is asked of the go command, because
// the program itself may run from anywhere inside the module.
func sourceDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/plimsoll-bench/plimsoll/bench").Output()
	if err != nil {
		return "", fmt.Errorf("the benchmark must run inside the repository: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// captureMessages returns the first n messages that wire sends for an operation, as a responder received them. The greeting
// is none of them.
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

// isOperation reports whether an OP_MSG message is a find or an update: its body is a document whose
// first field has the command's name.
func isOperation(msg []byte) bool {
	const body = 16 + 4 + 1 + 4 // header, flags, kind of the section, length of the document
	if len(msg) < body+1 || binary.LittleEndian.Uint32(msg[12:]) != 2013 {
		return false
	}
	name, _, _ := bytes.Cut(msg[body+1:], []byte{0})
	return string(name) == "find" || string(name) == "update"
}
