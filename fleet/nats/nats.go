// Package nats carries the frames of a run between the coordinator and agents on other machines, over a NATS server.
// The coordinator runs one inside itself, or uses one of the user. Agents only dial out.
//
// A run has one JetStream stream with two subjects for each agent, one for each direction. Frames are numbered and
// encrypted for their receiver. The sender keeps a frame until the server has stored it, and publishes it again after
// an interruption; the receiver restores the order and drops repetitions. So a broken connection or a restarted server
// loses no frame, and a frame that is missing or was changed ends the link with an error.
//
// A coordinator and its agents have a space of names on the server: the bucket SPACE-agents has an entry of each agent
// and of the coordinator. Agents and coordinator publish a beat every second without JetStream.
package nats

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/fleet"
)

const (
	// defaultSpace is the space of names where none is given.
	defaultSpace = "plimsoll"
	// beatEvery is the period of the beats of agents and of the coordinator.
	beatEvery = time.Second
	// aliveAtMost is the age of the last beat of an agent that is alive.
	aliveAtMost = 5 * time.Second
	// answerAtMost is the time limit of a request to the server or to an agent.
	answerAtMost = 5 * time.Second
	// manyAtMost is the time limit of what a thousand agents request at once: to register, to join a run, to store frames.
	manyAtMost = 30 * time.Second
	// retryEvery is the pause before something is tried again.
	retryEvery = 100 * time.Millisecond
)

// space has the names of a coordinator on the server.
type space string

func spaceOf(name string) space {
	if name == "" {
		name = defaultSpace
	}
	return space(name)
}

func (s space) bucket() string                  { return string(s) + "-agents" }
func (s space) stream(run string) string        { return string(s) + "-run-" + run }
func (s space) coordinator() string             { return string(s) + ".coordinator" }
func (s space) who() string                     { return string(s) + ".who" }
func (s space) agent(name string) string        { return string(s) + ".agent." + name }
func (s space) beat(name string) string         { return string(s) + ".beat." + name }
func (s space) frames(run string) string        { return string(s) + ".run." + run + ".>" }
func (s space) toCoordinator(run string) string { return string(s) + ".run." + run + ".up.*" }
func (s space) up(run string, n int) string     { return fmt.Sprintf("%s.run.%s.up.%d", s, run, n) }
func (s space) down(run string, n int) string   { return fmt.Sprintf("%s.run.%s.down.%d", s, run, n) }

// coordinatorKey is the key of the coordinator's entry. Names of agents have no dot.
const coordinatorKey = "coordinator.entry"

// entry is what the bucket says of an agent or of the coordinator.
type entry struct {
	fleet.Facts
	Key []byte `json:"key"` // public, of this process
}

// beat is the sign of life of an agent.
type beat struct {
	Key  []byte `json:"key"`
	Run  string `json:"run,omitempty"` // that it performs or performed last
	Busy bool   `json:"busy,omitempty"`
}

// request is a message to an agent. One field is set.
type request struct {
	Join  *join  `json:"join,omitempty"`
	Break string `json:"break,omitempty"` // the run whose part ends
	Leave bool   `json:"leave,omitempty"` // the agent ends
}

// join asks an agent to perform a part of a run.
type join struct {
	Run         string `json:"run"`
	Number      int    `json:"number"`
	Coordinator entry  `json:"coordinator"`
}

// answer is the answer to a join.
type answer struct {
	Busy  bool   `json:"busy,omitempty"` // the agent performs another run
	Error string `json:"error,omitempty"`
}

// differs says what to update if two programs cannot work together.
func differs(agent, coordinator fleet.Facts) error {
	same := func(a, b string) bool { return a == b || a == "" || b == "" }
	if agent.Protocol == coordinator.Protocol && same(agent.Version, coordinator.Version) &&
		same(agent.Commit, coordinator.Commit) {
		return nil
	}
	return fmt.Errorf("the agent %s on %s is %s, and the coordinator is %s: install the same release on both", agent.Name,
		agent.Host, describe(agent), describe(coordinator))
}

// describe returns the program of an agent or of the coordinator.
func describe(f fleet.Facts) string {
	detail := fmt.Sprintf("protocol %d", f.Protocol)
	if f.Commit != "" {
		detail += ", commit " + f.Commit[:min(12, len(f.Commit))]
	}
	return fmt.Sprintf("plimsoll %s (%s)", f.Version, detail)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // messages are made of types that always can be written
	}
	return b
}

func newKey() (*ecdh.PrivateKey, error) { return ecdh.X25519().GenerateKey(rand.Reader) }

func randomName(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// publisher returns JetStream for a connection that carries frames.
func publisher(nc *client.Conn) (jetstream.JetStream, error) {
	return jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(1<<20),
		jetstream.WithPublishAsyncTimeout(manyAtMost),
		jetstream.WithDefaultTimeout(manyAtMost))
}
