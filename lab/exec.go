package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
)

// serveExec runs a program on a host and streams its output.
func (s *supervisor) serveExec(w http.ResponseWriter, r *http.Request) {
	var req ExecRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil ||
		len(req.Command) == 0 {
		writeAnswer(w, nil, refuse("the request names no host or no command"))
		return
	}
	h, n, err := s.placeOf(r.Context(), req.Host)
	if err != nil {
		writeAnswer(w, nil, err)
		return
	}
	in, out, err := os.Pipe()
	if err != nil {
		writeAnswer(w, nil, err)
		return
	}
	defer in.Close()
	p, err := h.Start(s.ctx, process.Spec{Role: req.Command[0], Path: req.Command[0], Args: req.Command[1:],
		Env: s.execEnv(h, n, req.Env), Log: out})
	out.Close() // the program has its own
	if code := startCode(err); code != 0 {
		_ = json.NewEncoder(w).Encode(execFrame{Error: err.Error(), Code: code})
		return
	}
	if err != nil {
		writeAnswer(w, nil, err)
		return
	}
	stop := context.AfterFunc(r.Context(), p.Kill) // the client has gone
	defer stop()
	// A program that this one left in the background may keep the output open for ever. It continues; do not wait for it.
	go func() {
		<-p.Done
		_ = in.SetReadDeadline(time.Now().Add(execGrace))
	}()
	frames := json.NewEncoder(w)
	sendOutput(frames, http.NewResponseController(w), in)
	<-p.Done
	_ = frames.Encode(execFrame{Ended: true, Code: exitCode(p.Exit)})
}

func sendOutput(frames *json.Encoder, flush *http.ResponseController, in *os.File) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			_ = frames.Encode(execFrame{Output: buffer[:n]})
			_ = flush.Flush()
		}
		if err != nil {
			return
		}
	}
}

// placeOf finds the host of a program by its name, or by the name or role of a member, which it then returns as well.
func (s *supervisor) placeOf(ctx context.Context, name string) (host.Host, engine.Node, error) {
	h := s.inventory.host(name)
	var n engine.Node
	if h == nil {
		var err error
		if n, err = s.inventory.member(ctx, name, 0); err != nil {
			return nil, nil, err
		}
		h = n.Host()
	}
	lab := s.order.Spec.Name
	switch h.State() {
	case host.Off:
		return nil, nil, unreachable(fmt.Sprintf("host %s has no power, so no command can run on it. "+
			"Power it on: plimsoll lab revert %s %[1]s", h.Name(), lab))
	case host.Paused:
		return nil, nil, unreachable(fmt.Sprintf("host %s is paused, so no command can run on it. "+
			"Resume it: plimsoll lab revert %s %[1]s", h.Name(), lab))
	}
	return h, n, nil
}

// startCode is the exit code of a shell for a program that cannot be started; 0 if the program is not the reason.
func startCode(err error) int {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 127
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return 126
	}
	return 0
}

// execGrace is how long the output of a program is read after the program has ended.
const execGrace = time.Second

// execEnv is the environment of a program on a host: the supervisor's, the client's, and variables that describe the
// lab and, if there is one, the member.
func (s *supervisor) execEnv(h host.Host, n engine.Node, more []string) []string {
	env := append(new(exec.Cmd).Environ(), more...)
	env = append(env, "PLIMSOLL_LAB="+s.order.Spec.Name, "PLIMSOLL_LAB_HOST="+h.Name(),
		"PLIMSOLL_LAB_ADDRESS="+h.Address())
	uris, err := s.addresses()
	if err == nil && uris[""] != "" {
		env = append(env, "PLIMSOLL_LAB_URI="+uris[""])
	}
	if n == nil || n.Kind() == topology.KindVolume {
		return env
	}
	_, port, _ := net.SplitHostPort(n.Address())
	env = append(env, "PLIMSOLL_LAB_MEMBER="+n.Name(), "PLIMSOLL_LAB_MEMBER_ADDRESS="+n.Address(),
		"PLIMSOLL_LAB_MEMBER_PORT="+port)
	if err == nil && n.Kind() != "postgres" { // it does not speak MongoDB's protocol
		env = append(env, "PLIMSOLL_LAB_MEMBER_URI="+memberURI(uris[""], n))
	}
	return env
}

// memberURI is the address of one member alone, with the credentials of the lab's address.
func memberURI(uri string, n engine.Node) string {
	a, _ := mongouri.Parse(uri) // the lab wrote it
	a.Hosts, a.Path = n.Address(), ""
	a.Drop("replicaSet")
	if n.Kind() == "mongod" {
		a.Set("directConnection", "true")
	}
	return a.String()
}

// exitCode is the exit code of a shell for a program that has ended.
func exitCode(err error) int {
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &e):
		return 1
	}
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}
