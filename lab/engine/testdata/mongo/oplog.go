package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// optime says where an entry of the oplog stands: when it was made, and in which term (manual: "replSetGetStatus",
// optimes).
type optime struct {
	ts uint64 // seconds and a number among those of the same second
	t  int64
}

func (a optime) compare(b optime) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.ts, b.ts)) }

func (a optime) doc() bson.D {
	return bson.D{{Key: "ts", Value: a.stamp()}, {Key: "t", Value: a.t}}
}

func (a optime) stamp() bson.Timestamp { return bson.Timestamp{T: uint32(a.ts >> 32), I: uint32(a.ts)} }

func (a optime) date() time.Time { return time.Unix(int64(a.ts>>32), 0) }

func optimeOf(d bson.D) optime {
	ts, _ := get(d, "ts").(bson.Timestamp)
	return optime{uint64(ts.T)<<32 | uint64(ts.I), int64(number(d, "t"))}
}

// entry is one of the oplog. Like those of a real one it can be applied twice: it has the document as it became.
type entry struct {
	TS    bson.Timestamp `bson:"ts"`
	Term  int64          `bson:"t"`
	Op    string         `bson:"op"` // i, u, d or n; undo in the journal alone: what is newer is taken back
	NS    string         `bson:"ns"`
	Key   []byte         `bson:"key,omitempty"`
	After bson.Raw       `bson:"o,omitempty"`
	// What a retried write is recognised by (manual: "Retryable Writes"), and what it was answered.
	Session     []byte `bson:"lsid,omitempty"`
	Txn         int64  `bson:"txn,omitempty"`
	Stmt        int32  `bson:"stmt,omitempty"`
	N, Modified int32
	Upserted    bool

	before bson.Raw // what was there, nil for nothing
	made   time.Time
}

func (e *entry) at() optime { return optime{uint64(e.TS.T)<<32 | uint64(e.TS.I), e.Term} }

// session is the last retryable write of a client's session.
type session struct {
	txn  int64
	done map[int32]*entry
}

// contents are the documents of a server and the oplog that they come from, which is kept whole.
type contents struct {
	docs     map[string]map[string]bson.Raw // by namespace and key
	log      []*entry
	sessions map[string]*session
}

func newContents() contents {
	return contents{docs: map[string]map[string]bson.Raw{}, sessions: map[string]*session{}}
}

// last is where the oplog ends.
func (c *contents) last() optime {
	if len(c.log) == 0 {
		return optime{}
	}
	return c.log[len(c.log)-1].at()
}

// apply adds an entry to the oplog and does what it says.
func (c *contents) apply(e *entry) {
	if e.Op != "n" {
		e.before = c.docs[e.NS][string(e.Key)]
		c.set(e, e.After)
	}
	c.log = append(c.log, e)
	c.remember(e)
}

func (c *contents) set(e *entry, doc bson.Raw) {
	switch {
	case doc == nil:
		delete(c.docs[e.NS], string(e.Key))
		return
	case c.docs[e.NS] == nil:
		c.docs[e.NS] = map[string]bson.Raw{}
	}
	c.docs[e.NS][string(e.Key)] = doc
}

func (c *contents) remember(e *entry) {
	if e.Session == nil {
		return
	}
	s := c.sessions[string(e.Session)]
	if s == nil || s.txn != e.Txn {
		s = &session{txn: e.Txn, done: map[int32]*entry{}}
		c.sessions[string(e.Session)] = s
	}
	s.done[e.Stmt] = e
}

// undo takes back what is newer than an optime.
func (c *contents) undo(to optime) {
	for n := len(c.log); n > 0 && c.log[n-1].at().compare(to) > 0; n-- {
		if e := c.log[n-1]; e.Op != "n" {
			c.set(e, e.before)
		}
		c.log = c.log[:n-1]
	}
	c.sessions = map[string]*session{}
	for _, e := range c.log {
		c.remember(e)
	}
}

// readLog answers what labs ask of the oplog: the entry at a time, and the first one after it that is a write (manual:
// "Replica Set Oplog").
func (c *contents) readLog(command bson.D) bson.D {
	from, _ := get(sub(sub(command, "filter"), "ts"), "$gte").(bson.Timestamp)
	batch := bson.A{}
	for _, e := range c.log {
		if len(batch) == int(number(command, "limit")) {
			break
		}
		if e.TS == from || e.TS.After(from) && e.Op != "n" {
			batch = append(batch, bson.D{{Key: "ts", Value: e.TS}, {Key: "t", Value: e.Term}, {Key: "wall", Value: e.made}})
		}
	}
	return cursorOf("local.oplog.rs", batch)
}

// journal is the file that a server finds its oplog in when it starts again (manual: "Journaling"). Entries are kept in
// the process until the journal is written: every 100 ms, and at once for who waits for it. What a killed process had
// not written is gone.
type journal struct {
	file    *os.File // nil on a server without a directory
	pending []byte
	syncs   int64
	bytes   int64
}

const journalEvery = 100 * time.Millisecond

// openJournal reads the journal of a directory. A last entry that was not written whole is cut off.
func openJournal(dbpath string, c *contents) (*journal, error) {
	if dbpath == "" {
		return &journal{}, nil
	}
	f, err := os.OpenFile(filepath.Join(dbpath, "standin-journal.bson"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	whole := int64(0)
	for rest := all; len(rest) >= 5; {
		n := int(binary.LittleEndian.Uint32(rest))
		if n < 5 || n > len(rest) {
			break
		}
		e := &entry{}
		if err := bson.Unmarshal(rest[:n], e); err != nil {
			return nil, err
		}
		if e.Op == "undo" {
			c.undo(e.at())
		} else {
			c.apply(e)
		}
		whole, rest = whole+int64(n), rest[n:]
	}
	_, seek := f.Seek(whole, io.SeekStart)
	return &journal{file: f}, errors.Join(f.Truncate(whole), seek)
}

// add puts an entry into the process's part of the journal.
func (j *journal) add(e *entry) {
	if j.file == nil {
		return
	}
	raw, err := bson.Marshal(e)
	check(err)
	j.pending = append(j.pending, raw...)
}

// write writes what was taken from the pending part and waits for the disk.
func (j *journal) write(b []byte) error {
	if j.file == nil || len(b) == 0 {
		return nil
	}
	if _, err := j.file.Write(b); err != nil {
		return err
	}
	return j.file.Sync()
}
