package lab

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The protocol of the socket is HTTP with JSON. Each method of a [Handle] has one path.
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

// longPoll is how long the supervisor waits for an event before it answers that there is none.
const longPoll = 30 * time.Second

// ExecRequest is a program to run on a host of a lab.
type ExecRequest struct {
	// Host is a host, or a member or role for its host.
	Host    string   `json:"host"`
	Command []string `json:"command"`
	// Env are variables besides those that the supervisor sets, each as NAME=VALUE.
	Env []string `json:"env,omitempty"`
}

// execFrame is a piece of a program's output, or its end. With an Error, the program was not started.
type execFrame struct {
	Output []byte `json:"output,omitempty"`
	Ended  bool   `json:"ended,omitempty"`
	Code   int    `json:"code,omitempty"`
	Error  string `json:"error,omitempty"`
}

// failRequest is a fault and its time limit; 0 is no limit.
type failRequest struct {
	Fault spec.Fault    `json:"fault"`
	Limit time.Duration `json:"limit,omitempty"`
}

// Healing names the faults to heal: one by its ID, all of a target (a host, member or disk), or all.
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

// ErrRefused says that a request was not valid. Nothing was changed.
var ErrRefused = fault.ErrRefused

// ErrUnreachable says that a request was refused because its host is off or paused.
var ErrUnreachable = errors.New("unreachable")

type unreachable string

func (u unreachable) Error() string { return string(u) }
func (u unreachable) Is(target error) bool {
	return target == ErrRefused || target == ErrUnreachable
}

func refuse(format string, a ...any) error { return fault.Refuse(format, a...) }

type answerError struct {
	Error       string `json:"error"`
	Refused     bool   `json:"refused,omitempty"`
	Unreachable bool   `json:"unreachable,omitempty"`
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
		v = answerError{Error: err.Error(), Refused: errors.Is(err, ErrRefused),
			Unreachable: errors.Is(err, ErrUnreachable)}
	}
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}
