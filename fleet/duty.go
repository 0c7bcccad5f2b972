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

// Duty is a task of clients besides the load. The clients of a drill keep ledgers.
type Duty struct {
	// Name is the name in the [Duties] of the clients, "" for none.
	Name string
	// Brief is its parameters, sent as JSON.
	Brief any
	// Started, if it is not nil, is called with run time zero, shortly before it.
	Started func(at time.Time)
}

// Duties are the duties of clients by name. Each gets its brief and the options of its client's run, which it may
// change. It returns a function to call after a run with a record; results for the parent go into a file beside that
// record. Its error is an error of the client.
type Duties map[string]func(brief json.RawMessage, o *run.Options) (after func() error, err error)

func (d Duty) order() (name string, brief json.RawMessage, err error) {
	if d.Name == "" {
		return "", nil, nil
	}
	brief, err = json.Marshal(d.Brief)
	return d.Name, brief, err
}

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
