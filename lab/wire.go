package lab

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// What goes over the socket is HTTP with JSON: one path for each thing that a [Handle] can do.
const (
	pathLab       = "/lab"
	pathAddresses = "/addresses"
	pathUsage     = "/usage"
	pathEvents    = "/events"
	pathCounters  = "/counters"
	pathExec      = "/exec"
	pathFail      = "/fail"
	pathHeal      = "/heal"
	pathRepair    = "/repair"
	pathRead      = "/read"
	pathStop      = "/stop"
)

// longPoll is how long the supervisor keeps a request for events when there are none.
const longPoll = 30 * time.Second

// ExecRequest is a program to run on a host of a lab.
type ExecRequest struct {
	// Host is a host, or a member or role for the host that it stands on.
	Host    string   `json:"host"`
	Command []string `json:"command"`
	// Env are variables besides those that the supervisor sets, as NAME=VALUE.
	Env []string `json:"env,omitempty"`
}

// execFrame is a piece of what a program says, or its end; with an Error it was not started.
type execFrame struct {
	Output []byte `json:"output,omitempty"`
	Ended  bool   `json:"ended,omitempty"`
	Code   int    `json:"code,omitempty"`
	Error  string `json:"error,omitempty"`
}

// failRequest is something to break, and after what time the supervisor heals it by itself; 0 for never.
type failRequest struct {
	Fault spec.Fault    `json:"fault"`
	Limit time.Duration `json:"limit,omitempty"`
}

// Healing says what to heal: the fault with an ID, all of a target (a host, member or disk), or all there are.
type Healing struct {
	ID     int    `json:"id,omitempty"`
	Target string `json:"target,omitempty"`
	All    bool   `json:"all,omitempty"`
}

type repairRequest struct {
	Volume string `json:"volume"`
}

type repairAnswer struct {
	Text string `json:"text"`
}

// ErrRefused says that a request made no sense; nothing was done.
var ErrRefused = action.ErrRefused

// ErrUnreachable says that a request was refused because its host is off or paused.
var ErrUnreachable = errors.New("unreachable")

// unreachable is a refusal that is [ErrUnreachable].
type unreachable string

func (u unreachable) Error() string { return string(u) }
func (u unreachable) Is(target error) bool {
	return target == ErrRefused || target == ErrUnreachable
}

func refuse(format string, a ...any) error { return action.Refuse(format, a...) }

// answerError is how an error travels.
type answerError struct {
	Error   string `json:"error"`
	Refused bool   `json:"refused,omitempty"`
	// Unreachable says that it was refused because a host is off or paused.
	Unreachable bool `json:"unreachable,omitempty"`
}

func (e answerError) err() error {
	switch {
	case e.Unreachable:
		return unreachable(e.Error)
	case e.Refused:
		return refuse("%s", e.Error)
	}
	return errors.New(e.Error)
}

func writeAnswer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		code := http.StatusInternalServerError
		if errors.Is(err, ErrRefused) {
			code = http.StatusBadRequest
		}
		w.WriteHeader(code)
		v = answerError{Error: err.Error(), Refused: errors.Is(err, ErrRefused), Unreachable: errors.Is(err, ErrUnreachable)}
	}
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}
