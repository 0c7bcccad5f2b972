package fleet

import "context"

// Protocol is the version of the messages between a coordinator and its agents. Both must have the same. A test demands
// another one when the messages change.
const Protocol = 2

// Wire is one side of a connection between the coordinator and an agent. It delivers frames in order, each once.
type Wire interface {
	// Send queues a frame, which the wire keeps. It does not wait for the other side. A wire that is broken drops
	// frames, and Receive says why.
	Send(frame []byte)
	// Receive returns the next frame. After the last one it returns [io.EOF] if the other side closed the wire, and
	// otherwise an error that says how it ended. One goroutine calls it.
	Receive() ([]byte, error)
	// Close ends the wire when everything is sent that is queued. It does not wait, and may be called more than once.
	Close()
	// Closed is closed when a closed wire has sent everything, or when the wire is broken.
	Closed() <-chan struct{}
}

// Link is the coordinator's side of a wire to an agent that performs a part of one run. After Close the agent ends its
// part of the run.
type Link interface {
	Wire
	// Facts are what the agent said of itself when it was placed.
	Facts() Facts
	// Break ends the part of an agent that does not respond. Receive returns then.
	Break()
}

// Facts are what is known of an agent before it has an order.
type Facts struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version,omitempty"` // of its program
	Commit   string `json:"commit,omitempty"`  // that it was built from, "" if it is unknown
	Name     string `json:"name,omitempty"`    // unique among the agents of a coordinator
	Host     string `json:"host,omitempty"`    // name of its machine
	Machine  string `json:"machine,omitempty"` // identifies the machine among others of its name
	PID      int    `json:"pid,omitempty"`
	Cores    int    `json:"cores,omitempty"`
	Zone     string `json:"zone,omitempty"` // where it runs, in the words of the person who placed it
	// Labels are what else that person said of it, by key.
	Labels map[string]string `json:"labels,omitempty"`
	Weight float64           `json:"weight,omitempty"` // operations per second that it can send at most, 0 if it does not know
	// Local says that the agent is a child of the coordinator: it has the same clock and writes into the coordinator's
	// directories.
	Local bool `json:"local,omitempty"`
}

// Placer puts agents somewhere.
type Placer interface {
	// Place returns links to n agents, in the order of their numbers, when all of them are there. It may return agents
	// of an earlier run that are idle. tell, if it is not nil, shows a person what it waits for.
	Place(ctx context.Context, n int, tell func(string)) ([]Link, error)
	// End ends all agents and removes everything that Place made.
	End() error
}

// Explainer is a placer that may know why an agent was lost.
type Explainer interface {
	// Explain says why an agent was lost, "" if that is not known.
	Explain(ctx context.Context, agent string) string
}

// Placers returns the placer of a place, as spec.Load.Place names it; "" is processes of this program.
type Placers func(place string) (Placer, error)
