package fleet

import (
	"encoding/json"
	"fmt"
	"io"
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
	// Received is called with what a client handed over, in order and one at a time. late is how much later than run time
	// zero the client began.
	Received func(client int, late time.Duration, data []byte)
}

// Duties are the duties of clients by name. Each gets its brief and the options of its client's run, which it may
// change. Its error is an error of the client.
type Duties map[string]func(brief json.RawMessage, o *run.Options) (HandOver, error)

// HandOver writes what a duty has to hand over since the last call. It is called every few seconds during the load, and
// after a run with a record once more, as the last one. Its error is an error of the client.
type HandOver func(to io.Writer, last bool) error

// handOverEvery is the time between two hand-overs. A client that dies takes with it what it did since the last one.
const handOverEvery = 2 * time.Second

func (d Duty) order() (name string, brief json.RawMessage, err error) {
	if d.Name == "" {
		return "", nil, nil
	}
	brief, err = json.Marshal(d.Brief)
	return d.Name, brief, err
}

func (d Duties) begin(name string, brief json.RawMessage, o *run.Options) (HandOver, error) {
	if name == "" {
		return func(io.Writer, bool) error { return nil }, nil
	}
	duty := d[name]
	if duty == nil {
		return nil, fmt.Errorf("this client has no duty %q (known: %s). The program that started it has another version",
			name, strings.Join(slices.Sorted(maps.Keys(d)), ", "))
	}
	return duty(brief, o)
}

// receiveHandOver passes on what the duty of a client handed over, when it is complete.
func (t *coordinator) receiveHandOver(m *member, n *handOverChunk) error {
	m.keep(len(n.Data))
	if t.fleet.Duty.Received == nil { // a drill that is resumed as a run has nobody to receive it
		return nil
	}
	if len(m.handedOver)+len(n.Data) > mostHandOver {
		return fmt.Errorf("it handed over more than %d MiB at once", mostHandOver>>20)
	}
	m.handedOver = append(m.handedOver, n.Data...)
	if n.Last {
		t.fleet.Duty.Received(m.number, max(0, m.skew), m.handedOver)
		m.handedOver = nil
	}
	return nil
}
