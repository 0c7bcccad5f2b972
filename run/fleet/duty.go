package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/run"
)

// Duty is what a command wants of its clients besides the load: those of a drill keep a ledger each.
type Duty struct {
	// Name is which of the [Duties] of the clients it is; "" is none.
	Name string
	// Brief is what they are told of it; it travels as JSON.
	Brief any
	// Started, if it is not nil, is told run time zero, a moment before it comes.
	Started func(at time.Time)
}

// Duties are what clients know to do besides the load, by name. Each gets its brief and the options of its client's
// run, which it may change, and returns what is done when the run has ended and left a record: what is to reach the
// parent goes into a file beside that record. An error there is one of the client.
type Duties map[string]func(brief json.RawMessage, o *run.Options) (after func() error, err error)

// order is the duty as a client is told it.
func (d Duty) order() (name string, brief json.RawMessage, err error) {
	if d.Name == "" {
		return "", nil, nil
	}
	brief, err = json.Marshal(d.Brief)
	return d.Name, brief, err
}

// begin makes a client do its duty.
func (d Duties) begin(name string, brief json.RawMessage, o *run.Options) (after func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	duty := d[name]
	if duty == nil {
		return nil, fmt.Errorf("this client has no duty %q (known: %s). The program that started it has another version",
			name, strings.Join(slices.Sorted(maps.Keys(d)), ", "))
	}
	return duty(brief, o)
}
