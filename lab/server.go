package lab

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

// maxRequest bounds what is read of a request.
const maxRequest = 1 << 20

// handler answers the requests of handles.
func (s *supervisor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathLab, func(w http.ResponseWriter, r *http.Request) {
		deep, _ := strconv.ParseBool(r.FormValue("deep"))
		writeAnswer(w, s.describe(r.Context(), deep), nil)
	})
	mux.HandleFunc("GET "+pathAddresses, func(w http.ResponseWriter, _ *http.Request) {
		a, err := s.addresses()
		writeAnswer(w, a, err)
	})
	mux.HandleFunc("GET "+pathUsage, func(w http.ResponseWriter, _ *http.Request) {
		u, err := s.usage()
		writeAnswer(w, u, err)
	})
	mux.HandleFunc("GET "+pathWitness, func(w http.ResponseWriter, r *http.Request) {
		seen, err := s.witness(r.Context())
		writeAnswer(w, seen, err)
	})
	mux.HandleFunc("GET "+pathEvents, s.serveEvents)
	mux.HandleFunc("POST "+pathExec, s.serveExec)
	mux.HandleFunc("POST "+pathRead, s.serveRead)
	mux.HandleFunc("POST "+pathFail, answer(func(r *http.Request, f Fault) (record.LabFault, error) {
		return s.fail(context.WithoutCancel(r.Context()), f)
	}))
	mux.HandleFunc("POST "+pathHeal, answer(func(_ *http.Request, h Healing) ([]record.LabFault, error) { return s.heal(h) }))
	mux.HandleFunc("POST "+pathRepair, answer(func(_ *http.Request, v repairRequest) (repairAnswer, error) {
		text, err := s.repair(v.Volume)
		return repairAnswer{text}, err
	}))
	mux.HandleFunc("POST "+pathStop, func(w http.ResponseWriter, _ *http.Request) {
		writeAnswer(w, struct{}{}, nil)
		s.stop()
	})
	return mux
}

// answer reads a request, does it and writes what came of it.
func answer[In, Out any](do func(*http.Request, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			writeAnswer(w, nil, refuse("this lab was made by another version of plimsoll, which does not understand the request: %v", err))
			return
		}
		out, err := do(r, in)
		writeAnswer(w, out, err)
	}
}

func (s *supervisor) serveEvents(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	wait, _ := time.ParseDuration(r.FormValue("wait"))
	ctx, cancel := context.WithTimeout(r.Context(), max(0, min(wait, longPoll)))
	defer cancel()
	events := s.events.since(ctx, after)
	if events == nil {
		events = []record.LabEvent{}
	}
	writeAnswer(w, events, nil)
}

// serveExec runs a program on a host and sends what it says as it comes.
func (s *supervisor) serveExec(w http.ResponseWriter, r *http.Request) {
	var req ExecRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil || len(req.Command) == 0 {
		writeAnswer(w, nil, refuse("a host and a command are needed"))
		return
	}
	h := s.hostNamed(req.Host)
	if h == nil {
		writeAnswer(w, nil, refuse("there is no host %q%s", req.Host, amongst(req.Host, s.hostNames())))
		return
	}
	in, out, err := os.Pipe()
	if err != nil {
		writeAnswer(w, nil, err)
		return
	}
	defer in.Close()
	p, err := h.Start(s.ctx, process.Spec{Role: req.Command[0], Path: req.Command[0], Args: req.Command[1:], Env: s.execEnv(h, req.Env), Log: out})
	out.Close() // the program has its own
	if err != nil {
		if errors.Is(err, host.ErrOff) {
			err = refuse("%s: %v", req.Host, err)
		}
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
	flush := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			_ = frames.Encode(execFrame{Output: buffer[:n]})
			_ = flush.Flush()
		}
		if err != nil {
			break
		}
	}
	<-p.Done
	_ = frames.Encode(execFrame{Ended: true, Code: exitCode(p.Exit)})
}

// execGrace is how long the output of a program that has ended is still read.
const execGrace = time.Second

// execEnv is the environment of a program on a host: the supervisor's, what the client adds, and where the lab is.
func (s *supervisor) execEnv(h host.Host, more []string) []string {
	env := append(new(exec.Cmd).Environ(), more...)
	env = append(env, "PLIMSOLL_LAB="+s.order.Spec.Name, "PLIMSOLL_LAB_HOST="+h.Name(), "PLIMSOLL_LAB_ADDRESS="+h.Address())
	if a, err := s.addresses(); err == nil {
		env = append(env, "PLIMSOLL_LAB_URI="+a[""])
	}
	return env
}

func (s *supervisor) hostNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, h := range s.planned.Layout.Hosts {
		names = append(names, h.Name)
	}
	return names
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
