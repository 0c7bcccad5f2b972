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
	cloop, goycsb       string // paths
	cloopErr, goycsbErr error
}

// report says what could not be built. That is an error: without its peers the comparison is not what
// was asked for.
func (p peers) report(w io.Writer) error {
	for _, err := range []error{p.cloopErr, p.goycsbErr} {
		if err != nil {
			fmt.Fprintln(w, err)
		}
	}
	if p.cloopErr != nil || p.goycsbErr != nil {
		return errors.New("a peer could not be built")
	}
	return nil
}

// buildPeers builds the C loop and go-ycsb into dir.
func buildPeers(ctx context.Context, dir string) peers {
	p := peers{cloop: filepath.Join(dir, "cloop"), goycsb: filepath.Join(dir, "goycsb")}
	source, err := sourceDir(ctx)
	if err != nil {
		p.cloopErr, p.goycsbErr = err, err
		return p
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	cc := exec.CommandContext(ctx, compiler, "-O2", "-o", p.cloop, filepath.Join(source, "peers", "cloop", "cloop.c"), "-lpthread")
	p.cloopErr = build("the C loop", "install a C compiler, or name one in CC", cc)
	goBuild := exec.CommandContext(ctx, "go", "build", "-o", p.goycsb, ".")
	goBuild.Dir = filepath.Join(source, "peers", "goycsb")
	goBuild.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=") // the module stands alone
	p.goycsbErr = build("go-ycsb", "it needs the Go module proxy once", goBuild)
	return p
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

// captureMessage returns the message that wire sends for an operation, as a responder received it. Of
// the greeting and the operations of a short run it is the last one.
func captureMessage(ctx context.Context, operation string) ([]byte, error) {
	var mu sync.Mutex
	var last []byte
	r, err := null.Listen(null.Options{Capture: func(_ int, msg []byte) {
		mu.Lock()
		defer mu.Unlock()
		if isOperation(msg) {
			last = append(last[:0], msg...)
		}
	}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	j := job{Addr: r.Addr(), Client: clientWire, Operation: operation, Workers: 1, Operations: 10}
	if _, err := j.run(ctx); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if last == nil {
		return nil, errors.New("no operation was sent")
	}
	return last, nil
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
