package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The states of members (manual: "Replica Set Member States").
const (
	stStartup   = 0
	stPrimary   = 1
	stSecondary = 2
	stStartup2  = 5
	stArbiter   = 7
	stDown      = 8
	stRollback  = 9
	stRemoved   = 10
)

var stateWords = map[int]string{stStartup: "STARTUP", stPrimary: "PRIMARY", stSecondary: "SECONDARY", stArbiter: "ARBITER", stStartup2: "STARTUP2",
	stDown: "(not reachable/healthy)", stRollback: "ROLLBACK", stRemoved: "REMOVED"}

// replica is what a server holds, and what it knows of the set that it is a member of. What it knows it has from its
// own disk and from messages of other members.
type replica struct {
	s       *server
	process bson.ObjectID // of the topologyVersion

	disk sync.Mutex // of the journal's file; taken before mu
	mu   sync.Mutex
	bell chan struct{} // closed and replaced when something changes that somebody may wait for
	kick chan struct{} // asks for the journal to be written

	contents
	journal *journal
	durable optime // up to where the journal is on the disk
	commit  optime // up to where a majority has everything

	state    int
	version  int64 // of the topology, for hello
	config   []byte
	members  []member
	rules    rules
	term     int64
	voted    string
	primary  string // as far as this member knows
	heard    time.Time
	patience time.Duration
	elected  time.Time
	stepping bool // it is handing over, and takes no writes
	frozen   time.Time
	copying  time.Time // since when it shows itself as one that copies all data; zero for never
	peers    map[string]*peer
	cursors  map[int64]*cursor
	counted  map[string]int64 // commands
	locked   bool             // by fsync, with disk
}

// rules are the settings of a set (manual: "Self-Managed Replica Set Configuration").
type rules struct {
	interval, timeout, election time.Duration
	journaled                   bool
}

// peer is another member as messages tell of it.
type peer struct {
	state            int
	heard            time.Time
	applied, durable optime
	elected          time.Time
	problem          string
	kick             chan struct{}
}

// openReplica finds what a server had before.
func openReplica(s *server) *replica {
	r := &replica{s: s, process: bson.NewObjectID(), bell: make(chan struct{}), kick: make(chan struct{}, 1),
		contents: newContents(),
		peers:    map[string]*peer{}, cursors: map[int64]*cursor{}, counted: map[string]int64{}, heard: time.Now()}
	var err error
	r.journal, err = openJournal(s.args["dbpath"], &r.contents)
	check(err)
	r.durable = r.last()
	if r.alone() {
		r.state = stPrimary
	}
	return r
}

// alone says whether the server is no member of any set, and never will be.
func (r *replica) alone() bool { return r.s.args["replSet"] == "" }

// ring wakes everybody who waits for a change. mu is held, as by all methods with a small letter that say nothing else.
func (r *replica) ring() {
	close(r.bell)
	r.bell = make(chan struct{})
}

// turn changes the state.
func (r *replica) turn(state int) {
	if r.state != state {
		r.s.log("I", "Replica set state transition", map[string]any{"newState": stateWords[state], "oldState": stateWords[r.state], "term": r.term})
	}
	r.state = state
	r.version++
	r.ring()
}

// arbiter says whether the server holds no data in its set.
func (r *replica) arbiter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	me := r.me()
	return me != nil && me.arbiter
}

// me is the member that the server is by its address, nil if it is none.
func (r *replica) me() *member {
	for i := range r.members {
		if r.members[i].host == r.s.address {
			return &r.members[i]
		}
	}
	return nil
}

// saved is what a member must not forget: which configuration holds, and whom it has voted for.
type saved struct {
	Term   int64
	Voted  string
	Config []byte // empty before there is one
}

func (r *replica) file() string { return filepath.Join(r.s.args["dbpath"], "standin-set.bson") }

func (r *replica) save() {
	raw, err := bson.Marshal(saved{r.term, r.voted, r.config})
	check(err)
	check(os.WriteFile(r.file()+".new", raw, 0o600))
	check(os.Rename(r.file()+".new", r.file()))
}

// begin goes on as the member that the server was when it ended.
func (r *replica) begin() {
	go r.keepJournal()
	if r.alone() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if raw, err := os.ReadFile(r.file()); err == nil {
		var was saved
		check(bson.Unmarshal(raw, &was))
		r.term, r.voted = was.Term, was.Voted
		if len(was.Config) > 0 {
			r.adopt(was.Config)
		}
	}
	if r.config != nil && (r.s.is("slow-initial-sync") || r.s.is("stalled-initial-sync")) {
		r.copying = time.Now()
	}
	go r.watchElections()
	go r.follow()
}

// copies says whether the member shows itself as one that copies all data when it was started again, and how much it
// has copied: for some seconds, or for ever without any progress.
func (r *replica) copies() (documents int64, still bool) {
	age := time.Since(r.copying)
	switch {
	case r.copying.IsZero():
		return 0, false
	case r.s.is("stalled-initial-sync"):
		return 1, true
	}
	return age.Milliseconds(), age < slowSync
}

// slowSync is how long a slow initial sync takes.
const slowSync = 8 * time.Second

func configVersion(config []byte) int64 {
	n, _ := bson.Raw(config).Lookup("version").AsInt64OK()
	return n
}

// adopt makes a configuration the one that holds.
func (r *replica) adopt(config []byte) {
	var d bson.D
	check(bson.Unmarshal(config, &d))
	r.config, r.members = config, membersOf(d)
	settings := sub(d, "settings")
	millis := func(name string, otherwise float64) time.Duration {
		if n := number(settings, name); n > 0 {
			otherwise = n
		}
		return time.Duration(otherwise * float64(time.Millisecond))
	}
	r.rules = rules{interval: millis("heartbeatIntervalMillis", 2000), timeout: 1000 * millis("heartbeatTimeoutSecs", 10),
		election: millis("electionTimeoutMillis", 10000), journaled: get(d, "writeConcernMajorityJournalDefault") != false}
	r.rules.interval = min(r.rules.interval, r.rules.election/4)
	r.expect()
	me := r.me()
	switch {
	case me == nil:
		r.turn(stRemoved)
	case me.arbiter:
		r.turn(stArbiter)
	case r.state != stPrimary && r.state != stRollback:
		r.turn(stSecondary)
	}
	for _, m := range r.members {
		if m.host != r.s.address && r.peers[m.host] == nil {
			p := &peer{state: stStartup, kick: make(chan struct{}, 1)}
			r.peers[m.host] = p
			go r.beat(m.host, p)
		}
	}
	r.save()
}

// expect begins to wait for the next sign of a primary: the election timeout and up to 15 % more, so that members do
// not all stand at once. A mongod that is its whole set stands at once.
func (r *replica) expect() {
	r.heard = time.Now()
	r.patience = r.rules.election + time.Duration(rand.Float64()*0.15*float64(r.rules.election))
	if len(r.members) == 1 {
		r.patience = 0
	}
}

// info is what members tell each other of themselves in each message.
func (r *replica) info() bson.D {
	d := bson.D{{Key: "from", Value: r.s.address}, {Key: "set", Value: r.s.args["replSet"]}, {Key: "term", Value: r.term},
		{Key: "state", Value: int32(r.state)},
		{Key: "applied", Value: r.last().doc()}, {Key: "durable", Value: r.durable.doc()}, {Key: "elected", Value: r.elected}}
	if r.config != nil {
		d = append(d, bson.E{Key: "config", Value: bson.Raw(r.config)})
	}
	return d
}

// learn takes what another member tells of itself.
func (r *replica) learn(info bson.D) {
	from := text(info, "from")
	if config, ok := get(info, "config").(bson.D); ok && len(config) > 0 && text(info, "set") == r.s.args["replSet"] {
		raw, err := bson.Marshal(config)
		check(err)
		if r.config == nil || configVersion(raw) > configVersion(r.config) {
			r.adopt(raw)
		}
	}
	p := r.peers[from]
	if p == nil {
		return
	}
	term := int64(number(info, "term"))
	r.meet(term)
	p.state, p.heard, p.problem = int(number(info, "state")), time.Now(), ""
	p.applied, p.durable = optimeOf(sub(info, "applied")), optimeOf(sub(info, "durable"))
	if at, ok := get(info, "elected").(bson.DateTime); ok {
		p.elected = at.Time()
	}
	if p.state == stPrimary && term == r.term {
		if r.primary != from {
			r.primary = from
			r.version++
		}
		r.expect()
	}
	r.advance()
	r.ring()
}

// meet takes note of a term. A primary of an earlier one is none any more.
func (r *replica) meet(term int64) {
	if term <= r.term {
		return
	}
	r.term, r.voted, r.primary = term, "", ""
	r.save()
	if r.state == stPrimary {
		r.stepDown("there is a later term")
	}
}

// stepDown makes a secondary of the primary.
func (r *replica) stepDown(why string) {
	r.s.log("I", "Stepping down from primary", map[string]any{"why": why, "term": r.term})
	r.stepping, r.elected = false, time.Time{}
	if r.primary == r.s.address {
		r.primary = ""
	}
	r.turn(stSecondary)
	r.expect()
	go r.publish()
}

// publish writes into the directory that all share what routers and config servers of a test look for there.
func (r *replica) publish() {
	r.mu.Lock()
	config, primary, address := r.config, r.primary, r.s.address
	r.mu.Unlock()
	check(r.s.change(func(st *state) error {
		rs := st.Sets[r.s.args["replSet"]]
		if rs == nil {
			return nil
		}
		if primary == address {
			rs.Primary, rs.Config = address, config
		} else if rs.Primary == address {
			rs.Primary = ""
		}
		return nil
	}))
}

// advance moves the point up to where a majority of the members with votes and data has everything, which is only ever
// an entry of the present term, and those before it.
func (r *replica) advance() {
	if r.state != stPrimary || r.alone() {
		return
	}
	var have []optime
	votes := 0
	for _, m := range r.members {
		votes += m.votes
		if m.votes > 0 && !m.arbiter {
			have = append(have, r.has(m.host, r.rules.journaled))
		}
	}
	need := votes/2 + 1
	if len(have) < need {
		return
	}
	for range need - 1 {
		have = dropGreatest(have)
	}
	at := optime{}
	for _, o := range have {
		if o.compare(at) > 0 {
			at = o
		}
	}
	if at.t == r.term && at.compare(r.commit) > 0 {
		r.commit = at
		r.ring()
	}
}

// has is how far a member has everything, on its disk if that is asked for.
func (r *replica) has(host string, journaled bool) optime {
	applied, durable := r.last(), r.durable
	if host != r.s.address {
		p := r.peers[host]
		if p == nil {
			return optime{}
		}
		applied, durable = p.applied, p.durable
	}
	if journaled {
		return durable
	}
	return applied
}

func dropGreatest(list []optime) []optime {
	greatest := 0
	for i := range list {
		if list[i].compare(list[greatest]) > 0 {
			greatest = i
		}
	}
	return append(list[:greatest], list[greatest+1:]...)
}

// append adds a new entry of the primary, or of a standalone.
func (r *replica) append(e *entry) {
	now := uint64(time.Now().Unix()) << 32
	ts := max(r.last().ts+1, now|1)
	e.TS, e.Term, e.made = bson.Timestamp{T: uint32(ts >> 32), I: uint32(ts)}, r.term, time.Now()
	r.apply(e)
	r.journal.add(e)
	if r.journal.file == nil {
		r.durable = r.last()
	}
	if len(r.members) == 1 {
		r.flush()
	}
	r.ring()
}

// flush asks for the journal to be written now.
func (r *replica) flush() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// keepJournal writes the journal every 100 ms and whenever somebody waits for it.
func (r *replica) keepJournal() {
	ticker := time.NewTicker(journalEvery)
	for {
		select {
		case <-ticker.C:
		case <-r.kick:
		}
		r.writeJournal()
	}
}

// writeJournal writes what is pending. A disk that fails is the end, as it is of a real server.
func (r *replica) writeJournal() {
	r.disk.Lock()
	defer r.disk.Unlock()
	r.mu.Lock()
	pending, at := r.journal.pending, r.last()
	r.journal.pending = nil
	r.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	if err := r.journal.write(pending); err != nil {
		r.s.log("F", "Fatal assertion", map[string]any{"msgid": 50853, "error": err.Error()})
		os.Exit(14)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.durable = at
	r.journal.syncs++
	r.journal.bytes += int64(len(pending))
	r.advance()
	r.ring()
}

// fsync writes the journal and holds all further writes of it, or lets them go on (manual: "fsync", lock; "fsyncUnlock").
func (r *replica) fsync(lock bool) bson.D {
	if lock {
		r.writeJournal()
		r.disk.Lock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case lock:
		r.locked = true
		r.counted["fsync"]++
		return good(bson.E{Key: "lockCount", Value: int64(1)})
	case !r.locked:
		return failed(20, "IllegalOperation", "fsyncUnlock called when not locked")
	}
	r.locked = false
	r.disk.Unlock()
	return good(bson.E{Key: "lockCount", Value: int64(0)})
}
