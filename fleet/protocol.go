package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The coordinator and its agents exchange frames of JSON: the coordinator sends [command]s, an agent sends [message]s.
// The first command is an order: to load a part of the records, or to run a part of the load. An agent that has loaded
// waits for its next order. It ends its part when the wire ends, so that it does not outlive the run.

// command is a command of the coordinator. One field is set.
type command struct {
	Order *order `json:"order,omitempty"`
	// Start is when the load starts, by the agent's clock: nanoseconds of the Unix epoch.
	Start int64 `json:"start,omitempty"`
	// Stop ends the load as a first Ctrl-C does, Abort as a second one, and Enough as [load.ErrEnough] does.
	Stop   bool `json:"stop,omitempty"`
	Abort  bool `json:"abort,omitempty"`
	Enough bool `json:"enough,omitempty"`
	// Ping asks for the agent's clock.
	Ping int64 `json:"ping,omitempty"`
	// Kept is how many bytes of chunks and hand-overs the coordinator has written or passed on since the beginning.
	Kept int64 `json:"kept,omitempty"`
}

// order is the task of a client. It has the credentials of the target.
type order struct {
	Spec    spec.Run    `json:"spec"`          // its part of the load
	Dir     string      `json:"dir,omitempty"` // of its own record; "" if it has no directory in common with the coordinator
	Tool    record.Tool `json:"tool"`
	Command []string    `json:"command,omitempty"`
	Address string      `json:"address,omitempty"` // of the lab that is the target, with credentials
	Client  int         `json:"client"`
	Clients int         `json:"clients"`
	Number  uint64      `json:"number"` // see run.Options
	Duty    string      `json:"duty,omitempty"`

	Fill *run.FillRange `json:"fill,omitempty"` // load these records and do nothing else

	Whole spec.Load      `json:"whole"` // the load of all clients together
	Turns workload.Turns `json:"turns"` // its part of it

	Brief json.RawMessage `json:"brief,omitempty"` // parameters of the duty
}

// message is a message of a client. One field is set besides Began, or none as a sign of life.
type message struct {
	Ready bool `json:"ready,omitempty"` // everything is open; it waits for the start
	// Began is its clock at its start. The first message after it has it: a message of its own would delay the start of
	// other clients on the same machine.
	Began    int64                  `json:"began,omitempty"`
	Interval *record.PackedInterval `json:"interval,omitempty"`
	Event    *measure.Event         `json:"event,omitempty"`
	Pong     *pong                  `json:"pong,omitempty"`
	Chunk    *fileChunk             `json:"part,omitempty"`
	HandOver *handOverChunk         `json:"news,omitempty"`
	Filled   *filled                `json:"filled,omitempty"` // the records of an order are loaded
	Done     *result                `json:"done,omitempty"`   // the last one
}

// works reports whether a client did something, unlike a sign of life.
func (m *message) works() bool {
	return m.Ready || m.Interval != nil || m.Event != nil || m.Chunk != nil || m.HandOver != nil || m.Filled != nil ||
		m.Done != nil
}

// pong is the answer to a ping.
type pong struct {
	Ping int64 `json:"ping"`
	At   int64 `json:"at"` // its clock, in nanoseconds of the Unix epoch
}

// fileChunk is a part of a file of an agent's record. The chunks of a file arrive in order.
type fileChunk struct {
	Name  string `json:"name"` // relative to the record, with slashes
	First bool   `json:"first,omitempty"`
	Data  []byte `json:"data,omitempty"`
}

// handOverChunk is a part of what the duty of a client hands over.
type handOverChunk struct {
	Data []byte `json:"data"`
	Last bool   `json:"last,omitempty"` // of this hand-over
}

// filled is the result of a client's part of the load phase.
type filled struct {
	Report load.FillReport `json:"report"`
	failure
}

// result is the result of a client's run.
type result struct {
	Run     *record.Run `json:"run,omitempty"`     // its own record, if it has one
	Ceiling float64     `json:"ceiling,omitempty"` // calibrated operations per second
	failure
}

// failure is the error of a client.
type failure struct {
	Stage   run.Stage `json:"stage,omitempty"`
	Error   string    `json:"error,omitempty"`
	Stopped bool      `json:"stopped,omitempty"` // the error is that the client was stopped
	Full    bool      `json:"full,omitempty"`    // the error is a full disk
}

func failureOf(err error) (f failure) {
	if err == nil {
		return f
	}
	f.Error = err.Error()
	f.Stopped = errors.Is(err, context.Canceled)
	f.Full = errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	var e *run.Error
	if errors.As(err, &e) {
		f.Stage = e.Stage
	}
	return f
}

// fullError is the error of a client whose disk is full.
type fullError struct{ text string }

func (e *fullError) Error() string { return e.text }
func (e *fullError) Unwrap() error { return syscall.ENOSPC }

func (f *failure) err() error {
	switch {
	case f.Error == "":
		return nil
	case f.Full:
		return &fullError{f.Error}
	}
	return errors.New(f.Error)
}
