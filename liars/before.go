package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/fault"
	commands "github.com/plimsoll-bench/plimsoll/platform/command"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// beforeFamily starts members of replica sets that are made up, has a platform query them, and asks if a drill begins.
func beforeFamily() family {
	f := family{name: "before", verdict: "`plimsoll drill`, before the first fault: nothing is missing, and the fault leaves a majority",
		parallel: 32, notFound: []string{
			"A member that answers and does nothing else, such as one with a stalled disk: its lag shows it later.",
			"A member that the address and the platform file do not name: it is not queried.",
			"The state of sets behind a router, unless the platform file names their members.",
		}}
	for _, l := range []struct {
		name, lie string
		harm      func(*madeUp)
		missing   string // what the refusal has to say; "" for anything
	}{
		{"member-down", "a member ends all connections", func(s *madeUp) { s.other().down = true }, ""},
		{"member-hangs", "a member accepts connections and does not answer", func(s *madeUp) { s.other().hangs = true }, ""},
		{"member-lags", "a secondary is 3 to 100 s behind", func(s *madeUp) { s.secondary().behind += 3 + s.rand.IntN(98) }, ""},
		{"initial-sync", "a member starts, copies all data, or rolls back", func(s *madeUp) { s.secondary().role = "" }, ""},
		{"open-fault", "a fault is in place in a lab", (*madeUp).breakOne, ""},
		{"majority-lost", "the fault takes the last member of a majority", (*madeUp).onlyMajority, "less than a majority"},
	} {
		f.rows = append(f.rows, row{name: l.name, lie: l.lie, goal: everyOne, small: 5, full: 200,
			try: func(ctx context.Context, t *trial) (answer, error) { return refused(ctx, t, l.harm, l.missing) }})
	}
	return family{name: f.name, verdict: f.verdict, parallel: f.parallel, notFound: f.notFound, rows: append(f.rows,
		row{name: "whole", honest: "sets with arbiters, delayed members and members without a vote, and lag of up to 1 s", goal: none,
			small: 10, full: 1000, try: func(ctx context.Context, t *trial) (answer, error) {
				return refused(ctx, t, func(*madeUp) {}, "")
			}},
		row{name: "majority-stays", honest: "members are down, and the fault leaves a majority: no lack of a majority is reported",
			goal: none, small: 10, full: 1000, try: func(ctx context.Context, t *trial) (answer, error) {
				return refused(ctx, t, (*madeUp).moreThanMajority, "less than a majority")
			}})}
}

// refused queries a set after the harm.
func refused(ctx context.Context, t *trial, harm func(*madeUp), missing string) (answer, error) {
	s := newMadeUp(t.rand)
	harm(s)
	if err := s.start(); err != nil {
		return 0, err
	}
	defer s.stop()
	var addresses []string
	for _, m := range s.members {
		addresses = append(addresses, m.address)
	}
	d, err := commands.New(commands.Options{URI: "mongodb://" + strings.Join(addresses, ",") + "/?replicaSet=rs0"})
	if err != nil {
		return 0, err
	}
	defer d.Close()
	members, err := d.Members(ctx)
	if err != nil {
		return 0, err
	}
	says := drill.Refusal(record.Lab{Members: members, Faults: s.faults}, []spec.Fault{{Action: s.action}}, s.voting())
	t.say("%s of %d voting members: %q", s.action, s.voting(), says)
	for _, m := range s.members {
		t.say("%+v", *m)
	}
	if says != "" && strings.Contains(says, missing) {
		return accused, nil
	}
	return cleared, nil
}

// madeUp is a replica set whose members answer hello.
type madeUp struct {
	rand    *rand.Rand
	members []*madeUpMember // the first is primary
	faults  []record.LabFault
	action  spec.Action

	all sync.WaitGroup
}

type madeUpMember struct {
	role        string // "primary", "secondary", "arbiter"; "" for one that is none of them
	votes       bool
	delay       int // configured
	behind      int // seconds in addition
	down, hangs bool
	address     string
	listener    net.Listener
}

func (m *madeUpMember) up() bool { return !m.down && !m.hangs && m.role != "" }

// newMadeUp makes a set of which nothing is missing, and a fault that leaves a majority.
func newMadeUp(r *rand.Rand) *madeUp {
	s := &madeUp{rand: r}
	add := func(role string, votes bool) *madeUpMember {
		m := &madeUpMember{role: role, votes: votes, behind: r.IntN(2)}
		s.members = append(s.members, m)
		return m
	}
	add("primary", true).behind = 0
	for range []int{2, 2, 4}[r.IntN(3)] {
		add("secondary", true)
	}
	if r.IntN(4) == 0 {
		s.members[2].role = "arbiter"
	}
	if r.IntN(4) == 0 {
		add("secondary", false)
	}
	if r.IntN(4) == 0 {
		add("secondary", false).delay = 60 * (1 + r.IntN(60))
	}
	down := slices.DeleteFunc(slices.Clone(fault.All()), func(a *fault.Action) bool { return !a.TakesDown })
	s.action = spec.Action{Name: down[r.IntN(len(down))].Name,
		Target: []string{"primary", "secondary", "random", "rs0/primary", "rs0/secondary"}[r.IntN(5)]}
	return s
}

func (s *madeUp) voting() (n int) {
	for _, m := range s.members {
		if m.votes {
			n++
		}
	}
	return n
}

// other returns a member that is not primary.
func (s *madeUp) other() *madeUpMember { return s.members[1+s.rand.IntN(len(s.members)-1)] }

func (s *madeUp) secondary() *madeUpMember {
	for {
		if m := s.other(); m.role == "secondary" {
			return m
		}
	}
}

func (s *madeUp) breakOne() {
	all := fault.All()
	s.faults = []record.LabFault{{ID: 1 + s.rand.IntN(9), Action: all[s.rand.IntN(len(all))].Name, Target: "n1"}}
}

// take takes voting members away until so many are up that one more is the last of a majority, or spare more.
func (s *madeUp) take(spare int) {
	s.action.Target = []string{"primary", "rs0/primary"}[s.rand.IntN(2)]
	for {
		up := 0
		for _, m := range s.members {
			if m.votes && m.up() {
				up++
			}
		}
		if up <= s.voting()/2+1+spare {
			return
		}
		if m := s.other(); m.votes {
			m.down = m.down || s.rand.IntN(2) == 0
			m.hangs = !m.down
		}
	}
}

func (s *madeUp) onlyMajority() {
	if s.rand.IntN(3) == 0 { // of two members each is needed
		s.members = s.members[:2]
		s.members[1].role = "secondary"
		return
	}
	s.take(0)
}

// moreThanMajority takes a voting member away where all others vote: which members vote is not known to the verdict.
func (s *madeUp) moreThanMajority() {
	s.members = slices.DeleteFunc(s.members, func(m *madeUpMember) bool { return !m.votes })
	for len(s.members) < 5 {
		s.members = append(s.members, &madeUpMember{role: "secondary", votes: true})
	}
	s.take(1)
}

func (s *madeUp) start() error {
	for _, m := range s.members {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.stop()
			return err
		}
		m.listener, m.address = ln, ln.Addr().String()
	}
	for _, m := range s.members {
		s.all.Go(func() { s.serve(m) })
	}
	return nil
}

func (s *madeUp) stop() {
	for _, m := range s.members {
		if m.listener != nil {
			_ = m.listener.Close()
		}
	}
	s.all.Wait()
}

func (s *madeUp) serve(m *madeUpMember) {
	var open []net.Conn
	for {
		c, err := m.listener.Accept()
		if err != nil {
			break
		}
		if m.down { // another trial would get a port that nobody listens on
			_ = c.Close()
			continue
		}
		open = append(open, c)
		if !m.hangs {
			s.all.Go(func() { s.answer(c, m) })
		}
	}
	for _, c := range open {
		_ = c.Close()
	}
}

// answer answers all requests of a connection.
func (s *madeUp) answer(c net.Conn, m *madeUpMember) {
	for {
		raw, err := readMessage(c)
		if err != nil {
			return
		}
		x := &exchange{request: raw}
		name, reply := "isMaster", binary.LittleEndian.Uint32(raw[12:]) == opQuery
		if !reply {
			if x.command, err = parseCommand(raw); err != nil {
				return
			}
			name = x.command.name
		}
		if err := x.answerWith(s.says(m, name)); err != nil {
			return
		}
		if reply { // the first message of a connection
			x.reply = slices.Insert(x.reply, headerSize+5, make([]byte, replyHeading-headerSize-5)...)
			binary.LittleEndian.PutUint32(x.reply, uint32(len(x.reply)))
			binary.LittleEndian.PutUint32(x.reply[12:], opReply)
			copy(x.reply[headerSize:replyHeading], make([]byte, replyHeading-headerSize))
			x.reply[replyHeading-4] = 1 // document
		}
		if _, err := c.Write(x.reply); err != nil {
			return
		}
	}
}

// says is the answer of a member to a command.
func (s *madeUp) says(m *madeUpMember, name string) bson.D {
	switch name {
	case "buildInfo":
		return bson.D{{Key: "version", Value: standinVersion}, {Key: "ok", Value: 1.0}}
	case "hello", "isMaster", "ismaster":
	default:
		return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(59)}, {Key: "codeName", Value: "CommandNotFound"},
			{Key: "errmsg", Value: fmt.Sprintf("no such command: %q", name)}}
	}
	hosts, arbiters := bson.A{}, bson.A{}
	for _, o := range s.members {
		if o.role == "arbiter" {
			arbiters = append(arbiters, o.address)
		} else {
			hosts = append(hosts, o.address)
		}
	}
	const now = 1_790_000_000
	written := bson.Timestamp{T: uint32(now - m.delay - m.behind), I: 1}
	reply := bson.D{{Key: "helloOk", Value: true}, {Key: "isWritablePrimary", Value: m.role == "primary"},
		{Key: "ismaster", Value: m.role == "primary"}, {Key: "secondary", Value: m.role == "secondary"},
		{Key: "setName", Value: "rs0"}, {Key: "setVersion", Value: int32(1)}, {Key: "hosts", Value: hosts},
		{Key: "arbiters", Value: arbiters}, {Key: "me", Value: m.address}, {Key: "primary", Value: s.members[0].address},
		{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, {Key: "maxMessageSizeBytes", Value: int32(mostMessage)},
		{Key: "maxWriteBatchSize", Value: int32(100_000)}, {Key: "localTime", Value: time.Now()},
		{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(13)}}
	if m.role == "arbiter" {
		reply = append(reply, bson.E{Key: "arbiterOnly", Value: true})
	} else {
		reply = append(reply, bson.E{Key: "lastWrite", Value: bson.D{{Key: "opTime", Value: bson.D{{Key: "ts", Value: written},
			{Key: "t", Value: int64(1)}}}, {Key: "lastWriteDate", Value: time.Unix(int64(written.T), 0)}}})
	}
	if m.delay > 0 {
		reply = append(reply, bson.E{Key: "secondaryDelaySecs", Value: int64(m.delay)}, bson.E{Key: "hidden", Value: true})
	}
	return append(reply, bson.E{Key: "ok", Value: 1.0})
}
