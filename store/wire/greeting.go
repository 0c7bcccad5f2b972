package wire

import (
	"runtime"
	"slices"
	"time"

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
	start, d := beginDocument(nil)
	d = appendInt32(d, name, 1)
	d = appendBool(d, "helloOk", true)
	if user != "" {
		d = appendString(d, "saslSupportedMechs", user)
	}
	d = appendDocument(d, rawbson.Document, "client", clientMetadata(app))
	return rawbson.Close(d, start)
}

func pingCommand() []byte {
	start, d := beginDocument(nil)
	return rawbson.Close(appendInt32(d, "ping", 1), start)
}

// clientMetadata identifies this program in the server's log.
func clientMetadata(app string) []byte {
	start, d := beginDocument(nil)
	d = appendDocument(d, rawbson.Document, "application", pair("name", app))
	d = appendDocument(d, rawbson.Document, "driver", pair("name", "plimsoll-wire", "version", "1"))
	d = appendDocument(d, rawbson.Document, "os", pair("type", runtime.GOOS, "architecture", runtime.GOARCH))
	d = appendString(d, "platform", runtime.Version())
	return rawbson.Close(d, start)
}

// pair makes a document of strings.
func pair(keysAndValues ...string) []byte {
	start, d := beginDocument(nil)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		d = appendString(d, keysAndValues[i], keysAndValues[i+1])
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
	for {
		e, rest, more, err := nextElement(body)
		if err != nil {
			return nil, err
		}
		if !more {
			g.role = flags.role(g)
			return g, nil
		}
		g.take(e, &flags)
		body = rest
	}
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

func (g *greeting) take(e element, flags *greetingFlags) {
	switch string(e.key) {
	case "isWritablePrimary", "ismaster":
		flags.writable = flags.writable || e.isTrue()
	case "secondary":
		flags.secondary = e.isTrue()
	case "isreplicaset":
		flags.ghost = e.isTrue()
	case "msg":
		s, _ := e.text()
		flags.router = string(s) == "isdbgrid"
	case "setName":
		s, _ := e.text()
		g.setName = string(s)
	case "me":
		s, _ := e.text()
		g.me = string(s)
	case "hosts", "passives":
		body, _ := e.body()
		g.hosts = append(g.hosts, withPorts(stringsOf(body))...)
		slices.Sort(g.hosts)
	case "setVersion":
		g.setVersion, _ = e.number()
	case "electionId":
		if e.kind == rawbson.ObjectID {
			copy(g.electionID[:], e.value)
		}
	default:
		g.takeLimit(e)
	}
}

func (g *greeting) takeLimit(e element) {
	switch string(e.key) {
	case "maxWriteBatchSize":
		g.maxBatch = clamp(e, 1, defaultMaxBatch, g.maxBatch)
	case "maxMessageSizeBytes":
		g.maxMessage = clamp(e, 1024, maxMessageLimit, g.maxMessage)
	case "maxWireVersion":
		g.maxWire, _ = e.number()
	case "logicalSessionTimeoutMinutes":
		_, g.sessions = e.number()
	case "saslSupportedMechs":
		body, _ := e.body()
		g.mechanisms = stringsOf(body)
	case "$clusterTime":
		if _, ok := e.body(); ok {
			g.clusterTime = slices.Clone(e.value)
		}
	}
}

// isTrue reads a boolean, or a number of an old server.
func (e element) isTrue() bool {
	n, ok := e.number()
	return ok && n != 0
}

// clamp reads a limit and keeps it in a sensible range.
func clamp(e element, least, most, otherwise int) int {
	n, ok := e.number()
	if !ok || n < int64(least) {
		return otherwise
	}
	return int(min(n, int64(most)))
}
