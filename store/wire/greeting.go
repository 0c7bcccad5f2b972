package wire

import (
	"runtime"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// role of a server.
type role uint8

const (
	roleUnknown role = iota
	roleStandalone
	rolePrimary
	roleSecondary
	roleOther // arbiter, recovering, starting up
	roleRouter
)

var roleNames = [...]string{"unknown", "standalone", "primary", "secondary", "member without data or recovering", "router"}

func (r role) String() string { return roleNames[r] }

// greeting is the reply to hello.
type greeting struct {
	role       role
	setName    string
	me         string
	hosts      []string // members that can hold data
	setVersion int64
	electionID [12]byte

	maxBatch   int
	maxMessage int
	maxWire    int64
	sessions   bool // the reply has logicalSessionTimeoutMinutes

	mechanisms  []string
	clusterTime []byte
	rtt         time.Duration
}

// helloCommand is the first command on every connection. user is "DB.NAME" to get its authentication mechanisms, or
// empty. name is "hello", or "isMaster" for old servers.
func helloCommand(name, app, user string) []byte {
	d, start := rawbson.Open(nil)
	d = bsoncore.AppendInt32Element(d, name, 1)
	d = bsoncore.AppendBooleanElement(d, "helloOk", true)
	if user != "" {
		d = bsoncore.AppendStringElement(d, "saslSupportedMechs", user)
	}
	d = appendDocument(d, rawbson.Document, "client", clientMetadata(app))
	return rawbson.Close(d, start)
}

func pingCommand() []byte {
	d, start := rawbson.Open(nil)
	return rawbson.Close(bsoncore.AppendInt32Element(d, "ping", 1), start)
}

// clientMetadata identifies this program in the server's log.
func clientMetadata(app string) []byte {
	d, start := rawbson.Open(nil)
	d = appendDocument(d, rawbson.Document, "application", pair("name", app))
	d = appendDocument(d, rawbson.Document, "driver", pair("name", "plimsoll-wire", "version", "1"))
	d = appendDocument(d, rawbson.Document, "os", pair("type", runtime.GOOS, "architecture", runtime.GOARCH))
	d = bsoncore.AppendStringElement(d, "platform", runtime.Version())
	return rawbson.Close(d, start)
}

// pair makes a document of strings.
func pair(keysAndValues ...string) []byte {
	d, start := rawbson.Open(nil)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		d = bsoncore.AppendStringElement(d, keysAndValues[i], keysAndValues[i+1])
	}
	return rawbson.Close(d, start)
}

// parseGreeting parses a successful reply to hello or isMaster.
func parseGreeting(doc []byte) (*greeting, error) {
	g := &greeting{maxBatch: defaultMaxBatch, maxMessage: defaultMaxMessage}
	var flags greetingFlags
	body, _, ok := rawbson.Split(doc)
	if !ok {
		return nil, errBSON
	}
	for len(body) > 0 {
		key, v, size := rawbson.Next(body)
		if size == 0 {
			return nil, errBSON
		}
		g.take(key, v, &flags)
		body = body[size:]
	}
	g.role = flags.role(g)
	return g, nil
}

type greetingFlags struct {
	writable, secondary, router, ghost bool
}

// role follows the rules of server discovery: a router has "isdbgrid", a member of a set has a set name, and other
// servers are standalone.
func (f greetingFlags) role(g *greeting) role {
	switch {
	case f.router:
		return roleRouter
	case f.ghost:
		return roleOther
	case g.setName == "":
		return roleStandalone
	case f.writable:
		return rolePrimary
	case f.secondary:
		return roleSecondary
	}
	return roleOther
}

func (g *greeting) take(key []byte, v rawbson.RawValue, flags *greetingFlags) {
	switch string(key) {
	case "isWritablePrimary", "ismaster":
		flags.writable = flags.writable || isTrue(v)
	case "secondary":
		flags.secondary = isTrue(v)
	case "isreplicaset":
		flags.ghost = isTrue(v)
	case "msg":
		s, _ := v.Text()
		flags.router = string(s) == "isdbgrid"
	case "setName":
		s, _ := v.Text()
		g.setName = string(s)
	case "me":
		s, _ := v.Text()
		g.me = string(s)
	case "hosts", "passives":
		body, _ := v.Body()
		g.hosts = append(g.hosts, withPorts(stringsOf(body))...)
		slices.Sort(g.hosts)
	case "setVersion":
		g.setVersion, _ = v.Number()
	case "electionId":
		if v.Kind == rawbson.ObjectID {
			copy(g.electionID[:], v.Data)
		}
	default:
		g.takeLimit(key, v)
	}
}

func (g *greeting) takeLimit(key []byte, v rawbson.RawValue) {
	switch string(key) {
	case "maxWriteBatchSize":
		g.maxBatch = clamp(v, 1, defaultMaxBatch, g.maxBatch)
	case "maxMessageSizeBytes":
		g.maxMessage = clamp(v, 1024, maxMessageLimit, g.maxMessage)
	case "maxWireVersion":
		g.maxWire, _ = v.Number()
	case "logicalSessionTimeoutMinutes":
		_, g.sessions = v.Number()
	case "saslSupportedMechs":
		body, _ := v.Body()
		g.mechanisms = stringsOf(body)
	case "$clusterTime":
		if _, ok := v.Body(); ok {
			g.clusterTime = slices.Clone(v.Data)
		}
	}
}

// isTrue reads a boolean, or a number of an old server.
func isTrue(v rawbson.RawValue) bool {
	n, ok := v.Number()
	return ok && n != 0
}

// clamp reads a limit and keeps it in a sensible range.
func clamp(v rawbson.RawValue, least, most, otherwise int) int {
	n, ok := v.Number()
	if !ok || n < int64(least) {
		return otherwise
	}
	return int(min(n, int64(most)))
}
