// Package nats carries the frames of a run between the coordinator and agents on other machines, over a NATS server.
// The coordinator runs one inside itself, or uses one of the user. Agents only dial out.
//
// A run has one JetStream stream with two subjects for each agent, one for each direction. Frames are numbered and
// encrypted for their receiver. The sender keeps a frame until the server has stored it, and publishes it again after
// an interruption; the receiver restores the order and drops repetitions. So a broken connection or a restarted server
// loses no frame, and a frame that is missing or was changed ends the link with an error.
//
// An agent beats every second without JetStream, and the coordinator answers each beat. Beats, answers and frames are
// encrypted with a key of both sides: the coordinator's, which the token pins, the agent's, which is new in each
// process, and the secret of the token. So the server, and whoever else reads or writes there, can be no agent and no
// coordinator, and can change or repeat nothing. It can only withhold messages.
//
// The subjects of an agent have a name that belongs to its key. The embedded server lets each agent write and read its
// own subjects only ([Permissions]).
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
	// joinAtMost is how long an agent that beats may take to join a run.
	joinAtMost = 2 * manyAtMost
	// retryEvery is the pause before something is tried again.
	retryEvery = 100 * time.Millisecond
	// creations is how often the creation of a stream is tried, and streamNotCreated the error that allows another try.
	creations        = 5
	streamNotCreated = jetstream.ErrorCode(10049)
)

// space has the names of a coordinator on the server.
type space string

func spaceOf(name string) space {
	if name == "" {
		name = defaultSpace
	}
	return space(name)
}

func (s space) stream(run string) string        { return string(s) + "-run-" + run }
func (s space) who() string                     { return string(s) + ".who" }
func (s space) agent(id string) string          { return string(s) + ".agent." + id }
func (s space) beat(id string) string           { return string(s) + ".beat." + id }
func (s space) frames(run string) string        { return string(s) + ".run." + run + ".>" }
func (s space) toCoordinator(run string) string { return s.up(run, "*") }
func (s space) up(run, id string) string        { return string(s) + ".run." + run + ".up." + id }
func (s space) down(run, id string) string      { return string(s) + ".run." + run + ".down." + id }

// inbox is where the server's answers for an agent arrive.
func inbox(id string) string { return "_INBOX." + id }

// Permissions are the subjects that an agent may publish and subscribe: of one agent, or of all with the id *.
func Permissions(spaceName, id string) (publish, subscribe []string) {
	s := spaceOf(spaceName)
	publish = []string{s.beat(id), s.up("*", id), "$JS.API.CONSUMER.CREATE.*.*." + s.down("*", id),
		"$JS.API.CONSUMER.MSG.NEXT.*.*", "$JS.API.CONSUMER.INFO.*.*", "$JS.API.CONSUMER.DELETE.*.*"}
	return publish, []string{s.agent(id), inbox(id) + ".>"}
}

// beat is what an agent says every second.
type beat struct {
	fleet.Facts
	Nonce   string   `json:"nonce,omitempty"` // of the coordinator that answered the last beat
	Run     string   `json:"run,omitempty"`   // that it performs or performed last
	Busy    bool     `json:"busy,omitempty"`
	Refused *refusal `json:"refused,omitempty"`
	Left    bool     `json:"left,omitempty"` // the agent ends
}

// refusal says why an agent cannot join a run.
type refusal struct {
	Run string `json:"run"`
	Why string `json:"why"`
}

// request is a message to an agent. One field is set.
type request struct {
	Hello *hello `json:"hello,omitempty"`
	Join  string `json:"join,omitempty"`  // the run of which the agent performs a part
	Break string `json:"break,omitempty"` // the run whose part ends
	Leave string `json:"leave,omitempty"` // why the agent ends
}

// hello is the answer to a beat.
type hello struct {
	Version string `json:"version,omitempty"`
	Commit  string `json:"commit,omitempty"`
	// Protocol is fleet.Protocol of the coordinator.
	Protocol int    `json:"protocol"`
	Nonce    string `json:"nonce"`
	Twice    bool   `json:"twice,omitempty"` // another agent has the name
}

// ended is the reason of agents that are dismissed without an error.
const ended = "-"

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
