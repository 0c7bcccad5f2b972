package main

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// internal are the messages of members to each other. replSetHeartbeat and replSetRequestVotes have the names of
// MongoDB's own, with fewer fields; a real member reads the oplog by find and getMore on local.oplog.rs, this one by
// standinOplog, and a router's commands come as standinRouted. Members do not authenticate to each other.
var internal = map[string]bool{"replSetHeartbeat": true, "replSetRequestVotes": true, "replSetStepUp": true, "standinOplog": true, "standinCommon": true,
	"standinRouted": true}

// link is a connection to another member.
type link struct {
	to   string
	tls  *tls.Config
	conn net.Conn
	n    uint32
}

// ask sends a message and returns the answer. A connection that failed is given up.
func (l *link) ask(limit time.Duration, command bson.D) (reply bson.D, err error) {
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.conn == nil {
		if l.conn, err = net.DialTimeout("tcp", l.to, limit); err != nil {
			return nil, err
		}
		if l.tls != nil {
			own := l.tls.Clone()
			own.ServerName, _, _ = net.SplitHostPort(l.to)
			l.conn = tls.Client(l.conn, own)
		}
	}
	l.n++
	raw := message(opMsg, 0, append(command, bson.E{Key: "$db", Value: "admin"}))
	binary.LittleEndian.PutUint32(raw[4:], l.n)
	if err := errors.Join(l.conn.SetDeadline(time.Now().Add(limit))); err != nil {
		return nil, err
	}
	if _, err := l.conn.Write(raw); err != nil {
		return nil, err
	}
	_, op, body, err := readMessage(l.conn)
	if err != nil {
		return nil, err
	}
	if _, reply, err = parseCommand(op, body); err == nil && number(reply, "ok") != 1 {
		err = errors.New(text(reply, "errmsg"))
	}
	return reply, err
}

func (l *link) close() {
	if l.conn != nil {
		_ = l.conn.Close() // it is given up
		l.conn = nil
	}
}

// beat sends heartbeats to another member as long as it is one (manual: "Replica Set Elections", heartbeats). They also
// stand for what a real member hears while it reads the oplog, so there are at least four in an election timeout.
func (r *replica) beat(host string, p *peer) {
	l := link{to: host, tls: r.s.tls}
	defer l.close()
	for {
		r.mu.Lock()
		if r.peers[host] != p {
			r.mu.Unlock()
			return
		}
		if !r.isMember(host) {
			delete(r.peers, host)
			r.mu.Unlock()
			return
		}
		hello, rules := append(bson.D{{Key: "replSetHeartbeat", Value: r.s.args["replSet"]}}, r.info()...), r.rules
		r.mu.Unlock()
		reply, err := l.ask(rules.timeout, hello)
		r.mu.Lock()
		if err == nil {
			r.learn(reply)
		} else {
			if p.state != stDown {
				p.state = stDown
				r.ring()
			}
			p.problem = err.Error()
		}
		r.mu.Unlock()
		select {
		case <-time.After(rules.interval):
		case <-p.kick:
		}
	}
}

func (r *replica) isMember(host string) bool {
	for _, m := range r.members {
		if m.host == host {
			return true
		}
	}
	return false
}

// beatAll sends a heartbeat to everybody at once.
func (r *replica) beatAll() {
	for _, p := range r.peers {
		select {
		case p.kick <- struct{}{}:
		default:
		}
	}
}

// hear answers another member.
func (r *replica) hear(name string, command bson.D) bson.D {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch name {
	case "replSetHeartbeat":
		if r.alone() || text(command, "set") != r.s.args["replSet"] {
			return failed(93, "InvalidReplicaSetConfig", "this is no member of "+text(command, "set"))
		}
		r.learn(command)
		return good(r.info()...)
	case "replSetRequestVotes":
		return r.vote(command)
	case "replSetStepUp":
		go r.stand("the primary hands over")
		return good()
	case "standinCommon":
		return good(bson.E{Key: "common", Value: r.common(command).doc()})
	}
	return r.hand(command)
}

// hand gives a member what follows the entries that it has, as soon as there is something, or nothing after a while.
func (r *replica) hand(command bson.D) bson.D {
	r.learn(command)
	after := optimeOf(sub(command, "after"))
	end := time.Now().Add(min(r.rules.election/4, time.Second))
	for r.state == stPrimary {
		from, ok := r.place(after)
		if !ok {
			return good(bson.E{Key: "diverged", Value: true})
		}
		batch, wait := r.ripe(from)
		if len(batch) > 0 || !time.Now().Before(end) || optimeOf(sub(command, "commit")).compare(r.commit) < 0 {
			return good(append(r.info(), bson.E{Key: "commit", Value: r.commit.doc()}, bson.E{Key: "entries", Value: batch})...)
		}
		r.wait(min(wait, time.Until(end)))
	}
	return notPrimary()
}

// wait lets others in until something changes, or for a time.
func (r *replica) wait(most time.Duration) {
	bell := r.bell
	r.mu.Unlock()
	t := time.NewTimer(max(most, 0))
	select {
	case <-bell:
	case <-t.C:
	}
	t.Stop()
	r.mu.Lock()
}

// place is behind which entry of the oplog an optime is; ok is false if there is no such entry.
func (r *replica) place(at optime) (n int, ok bool) {
	if at == (optime{}) {
		return 0, true
	}
	for n := len(r.log); n > 0; n-- {
		switch c := r.log[n-1].at().compare(at); {
		case c == 0:
			return n, true
		case c < 0:
			return 0, false
		}
	}
	return 0, false
}

// The most entries of an answer, and how old they have to be on a server that lags.
const (
	mostEntries = 2000
	lagging     = 500 * time.Millisecond
)

// ripe are the entries that may be handed over from a place on, and how long the next one takes to be.
func (r *replica) ripe(from int) (batch bson.A, wait time.Duration) {
	batch = bson.A{}
	for _, e := range r.log[from:min(len(r.log), from+mostEntries)] {
		if age := time.Since(e.made); r.s.is("lags") && age < lagging {
			return batch, lagging - age
		}
		raw, err := bson.Marshal(e)
		check(err)
		batch = append(batch, bson.Raw(raw))
	}
	return batch, time.Hour
}

// follow reads the oplog of the primary for as long as there is one and this member is another.
func (r *replica) follow() {
	l := link{tls: r.s.tls}
	for {
		r.mu.Lock()
		for r.state != stSecondary || r.primary == "" || r.primary == r.s.address {
			r.wait(time.Second)
		}
		if l.to != r.primary {
			l.close()
			l.to = r.primary
		}
		ask := append(bson.D{{Key: "standinOplog", Value: 1}}, r.info()...)
		ask = append(ask, bson.E{Key: "after", Value: r.last().doc()}, bson.E{Key: "commit", Value: r.commit.doc()})
		limit := r.rules.timeout
		r.mu.Unlock()
		reply, err := l.ask(limit, ask)
		if err == nil {
			err = r.take(&l, limit, reply)
		}
		if err != nil {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// take applies what the primary handed over, and writes it into the journal.
func (r *replica) take(l *link, limit time.Duration, reply bson.D) error {
	if get(reply, "diverged") != nil {
		return r.rollBack(l, limit)
	}
	entries, _ := get(reply, "entries").(bson.A)
	r.mu.Lock()
	if r.state != stSecondary || r.primary != l.to || int64(number(reply, "term")) != r.term {
		r.mu.Unlock()
		return errors.New("another primary was elected meanwhile")
	}
	r.learn(reply)
	for _, v := range entries {
		raw, err := bson.Marshal(v)
		check(err)
		e := &entry{}
		check(bson.Unmarshal(raw, e))
		if e.at().compare(r.last()) > 0 {
			r.apply(e)
			r.journal.add(e)
		}
	}
	if at := optimeOf(sub(reply, "commit")); at.compare(r.last()) <= 0 && at.compare(r.commit) > 0 {
		r.commit = at
	}
	r.ring()
	r.mu.Unlock()
	r.writeJournal()
	return nil
}

// common is the last entry that this member has of those that another one names. Both logs are in order, so one pass
// from their ends finds it. It must not take long: nobody hears the primary meanwhile.
func (r *replica) common(command bson.D) optime {
	theirs, _ := get(command, "points").(bson.Binary)
	n := len(r.log)
	for b := theirs.Data; len(b) >= 16; b = b[:len(b)-16] {
		last := b[len(b)-16:]
		at := optime{binary.BigEndian.Uint64(last), int64(binary.BigEndian.Uint64(last[8:]))}
		for n > 0 && r.log[n-1].at().compare(at) > 0 {
			n--
		}
		if n > 0 && r.log[n-1].at() == at {
			return at
		}
	}
	return optime{}
}

// rollBack gives up what the primary does not have, and keeps the documents in files (manual: "Rollbacks During Replica
// Set Failover").
func (r *replica) rollBack(l *link, limit time.Duration) error {
	r.mu.Lock()
	var points []byte
	for _, e := range r.log {
		points = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(points, e.at().ts), uint64(e.at().t))
	}
	r.mu.Unlock()
	reply, err := l.ask(limit, bson.D{{Key: "standinCommon", Value: 1}, {Key: "points", Value: bson.Binary{Data: points}}})
	if err != nil {
		return err
	}
	to := optimeOf(sub(reply, "common"))
	r.disk.Lock()
	defer r.disk.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != stSecondary || to.compare(r.commit) < 0 {
		return fmt.Errorf("the common point %v is before what a majority has, %v", to, r.commit)
	}
	r.turn(stRollback)
	if err := r.keepRemoved(to); err != nil {
		return err
	}
	r.undo(to)
	undo := &entry{Op: "undo", TS: to.stamp(), Term: to.t}
	r.journal.add(undo)
	if err := r.journal.write(r.journal.pending); err != nil {
		return err
	}
	r.journal.pending, r.durable = nil, to
	r.turn(stSecondary)
	return nil
}

// keepRemoved writes the documents that were inserted or changed since an optime, as they are now, into a file for each
// collection: DBPATH/rollback/UUID/removed.TIME.bson. Deletions are not written.
func (r *replica) keepRemoved(since optime) error {
	changed := map[string]map[string]bool{}
	for n := len(r.log); n > 0 && r.log[n-1].at().compare(since) > 0; n-- {
		if e := r.log[n-1]; e.After != nil {
			if changed[e.NS] == nil {
				changed[e.NS] = map[string]bool{}
			}
			changed[e.NS][string(e.Key)] = true
		}
	}
	now := time.Now().UTC().Format("2006-01-02T15-04-05")
	for ns, keys := range changed {
		var all []byte
		for key := range keys {
			all = append(all, r.docs[ns][key]...)
		}
		if len(all) == 0 {
			continue
		}
		dir := filepath.Join(r.s.args["dbpath"], "rollback", collectionUUID(ns))
		if !r.s.atLeast(4, 4) {
			dir = filepath.Join(r.s.args["dbpath"], "rollback", ns)
		}
		file := filepath.Join(dir, "removed."+now+".0.bson")
		r.s.log("I", "Preparing to write deleted documents to a rollback file", map[string]any{"file": file, "namespace": ns})
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, all, 0o600)); err != nil {
			return err
		}
	}
	return nil
}
