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

// serveExec runs a program on a host and sends what it says as it comes.
func (s *supervisor) serveExec(w http.ResponseWriter, r *http.Request) {
	var req ExecRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil || len(req.Command) == 0 {
		writeAnswer(w, nil, refuse("a host and a command are needed"))
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
	p, err := h.Start(s.ctx, process.Spec{Role: req.Command[0], Path: req.Command[0], Args: req.Command[1:], Env: s.execEnv(h, n, req.Env), Log: out})
	out.Close() // the program has its own
	if code := startCode(err); code != 0 {
		_ = json.NewEncoder(w).Encode(execFrame{Error: err.Error(), Code: code})
		return
	}
	if err != nil {
		writeAnswer(w, nil, err)
		return
	}
	stop := context.AfterFunc(r.Context(), p.Kill) // nobody reads it any more
	defer stop()
	// What the program left in the background may hold its output open for ever; it goes on, and is not waited for.
	go func() {
		<-p.Done
		_ = in.SetReadDeadline(time.Now().Add(execGrace))
	}()
	frames := json.NewEncoder(w)
	sendOutput(frames, http.NewResponseController(w), in)
	<-p.Done
	_ = frames.Encode(execFrame{Ended: true, Code: exitCode(p.Exit)})
}

// sendOutput sends what a program says until it ends.
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

// placeOf finds the host on which a program is to run, by its name or by that or the role of a member, which is then
// returned too.
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
		return nil, nil, unreachable(fmt.Sprintf("%s has no power, so nothing can be run on it; this gives it back: plimsoll lab heal %s %[1]s", h.Name(), lab))
	case host.Paused:
		return nil, nil, unreachable(fmt.Sprintf("%s is paused, so nothing can be run on it; this lets it go on: plimsoll lab heal %s %[1]s", h.Name(), lab))
	}
	return h, n, nil
}

// startCode is the exit code of a shell for a program that cannot be started, 0 where the program is not the reason.
func startCode(err error) int {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 127
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return 126
	}
	return 0
}

// execGrace is how long the output of a program that has ended is still read.
const execGrace = time.Second

// execEnv is the environment of a program on a host: the supervisor's, what the client adds, and where the lab and, if
// there is one, the member are.
func (s *supervisor) execEnv(h host.Host, n engine.Node, more []string) []string {
	env := append(new(exec.Cmd).Environ(), more...)
	env = append(env, "PLIMSOLL_LAB="+s.order.Spec.Name, "PLIMSOLL_LAB_HOST="+h.Name(), "PLIMSOLL_LAB_ADDRESS="+h.Address())
	uris, err := s.addresses()
	if err == nil && uris[""] != "" {
		env = append(env, "PLIMSOLL_LAB_URI="+uris[""])
	}
	if n == nil || n.Kind() == topology.KindVolume {
		return env
	}
	_, port, _ := net.SplitHostPort(n.Address())
	env = append(env, "PLIMSOLL_LAB_MEMBER="+n.Name(), "PLIMSOLL_LAB_MEMBER_ADDRESS="+n.Address(), "PLIMSOLL_LAB_MEMBER_PORT="+port)
	if err == nil && n.Kind() != "postgres" { // which does not speak MongoDB's protocol
		env = append(env, "PLIMSOLL_LAB_MEMBER_URI="+memberURI(uris[""], n))
	}
	return env
}

// memberURI is the address of one member alone, with the credentials of the lab's.
func memberURI(uri string, n engine.Node) string {
	a, _ := mongouri.Parse(uri) // we wrote it
	a.Hosts, a.Path = n.Address(), ""
	a.Drop("replicaSet")
	if n.Kind() == "mongod" {
		a.Set("directConnection", "true")
	}
	return a.String()
}

// exitCode is the code as a shell has it.
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
