package wire

import (
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// patched returns a correct answer with four bytes at an offset replaced.
func patched(at int, value uint32) func(*call) any {
	return func(c *call) any {
		msg := c.wrap(found(bson.D{{Key: "_id", Value: 1}}))
		binary.LittleEndian.PutUint32(msg[at:], value)
		return msg
	}
}

func document(doc bson.D) func(*call) any { return func(*call) any { return doc } }

// TestWrongAnswers: after invalid replies of a server the session reports an error, does not hang, and works again on a
// new connection.
func TestWrongAnswers(t *testing.T) {
	const body = bodyStart
	for name, answer := range map[string]func(*call) any{
		"answer to another request": patched(8, 12345),
		"unknown opcode":            patched(12, 2012),
		"huge length":               patched(0, 1<<31-1),
		"length over the limit":     patched(0, maxMessageLimit+1),
		"negative length":           patched(0, 1<<31),
		"tiny length":               patched(0, 3),
		"document too long":         patched(body, 5000),
		"document too short":        patched(body, 6),
		"unknown required flag":     patched(headerLen, 1<<5),
		"more to come":              patched(headerLen, flagMoreToCome),
		"bytes after the answer": func(c *call) any {
			return append(c.wrap(found()), 1, 2, 3)
		},
		"two bodies": func(c *call) any {
			msg := c.wrap(found())
			msg = append(append(msg, 0), msg[bodyStart:]...)
			binary.LittleEndian.PutUint32(msg, uint32(len(msg)))
			return msg
		},
		"no section":           func(c *call) any { msg := c.wrap(found())[:headerLen+4]; sealLength(msg); return msg },
		"no ok":                document(bson.D{{Key: "n", Value: 1}}),
		"no cursor":            document(bson.D{{Key: "ok", Value: 1.0}}),
		"cursor of wrong type": document(bson.D{{Key: "cursor", Value: 5}, {Key: "ok", Value: 1.0}}),
		"batch of wrong type":  document(bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: "x"}}}, {Key: "ok", Value: 1.0}}),
		"batch of numbers":     document(bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: bson.A{1, 2}}}}, {Key: "ok", Value: 1.0}}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				f := n.add("h:27017", &fake{hello: standalone, answer: answer})
				s, stop := n.session(store.Config{Target: "mongodb://h"})
				defer stop()
				req := &workload.Request{Verb: workload.Find, Collection: "c", Limit: 1}
				var res store.Result
				s.Do(time.Now().Add(time.Minute), req, &res)
				if res.Outcome != store.Failed || res.Reason != store.Protocol || res.Message == "" {
					t.Errorf("%+v", res)
				}
				n.set(func() { f.answer = document(found(bson.D{{Key: "_id", Value: 1}})) })
				s.Do(time.Now().Add(time.Minute), req, &res)
				if res.Outcome != store.OK {
					t.Errorf("on a new connection: %+v", res)
				}
			})
		})
	}
}

func sealLength(msg []byte) { binary.LittleEndian.PutUint32(msg, uint32(len(msg))) }

// TestUnreadableErrorsAreNoSuccess guards against taking a write error that cannot be read for none.
func TestUnreadableErrorsAreNoSuccess(t *testing.T) {
	for _, field := range []string{"writeErrors", "writeConcernError"} {
		n := newNetwork(t)
		n.add("h:27017", &fake{hello: standalone, answer: document(bson.D{{Key: "n", Value: 1}, {Key: field, Value: "?"},
			{Key: "ok", Value: 1.0}})})
		s, stop := n.session(store.Config{Target: "mongodb://h"})
		var res store.Result
		s.Do(time.Now().Add(time.Minute), insertRequest(t, 1), &res)
		if res.Outcome != store.Indeterminate || res.Reason != store.Protocol {
			t.Errorf("%s: %+v", field, res)
		}
		stop()
	}
}

// TestChecksumAndSequencesAreSteppedOver: a server may send them, though none does today.
func TestChecksumAndSequencesAreSteppedOver(t *testing.T) {
	n := newNetwork(t)
	n.add("h:27017", &fake{hello: standalone, answer: func(c *call) any {
		msg := c.wrap(found(bson.D{{Key: "_id", Value: 1}}))
		msg = append(msg, 1, 6, 0, 0, 0, 'x', 0) // a document sequence x without documents
		msg = append(msg, 0xde, 0xad, 0xbe, 0xef)
		binary.LittleEndian.PutUint32(msg[headerLen:], flagChecksum)
		sealLength(msg)
		return msg
	}})
	s, stop := n.session(store.Config{Target: "mongodb://h"})
	defer stop()
	var res store.Result
	s.Do(time.Now().Add(time.Minute), &workload.Request{Verb: workload.Find, Collection: "c", Limit: 1}, &res)
	if res.Outcome != store.OK {
		t.Errorf("%+v", res)
	}
}

func TestAnswerInPieces(t *testing.T) {
	n := newNetwork(t)
	n.add("h:27017", &fake{hello: standalone, answer: func(c *call) any {
		msg := c.wrap(found(bson.D{{Key: "_id", Value: 1}, {Key: "v", Value: make([]byte, 20000)}}))
		for len(msg) > 0 {
			k := min(len(msg), 7+len(msg)/3)
			if _, err := c.conn.Write(msg[:k]); err != nil {
				return err
			}
			msg = msg[k:]
		}
		return nil
	}})
	s, stop := n.session(store.Config{Target: "mongodb://h"})
	defer stop()
	var res store.Result
	s.Do(time.Now().Add(time.Minute), &workload.Request{Verb: workload.Find, Collection: "c", Limit: 1}, &res)
	if res.Outcome != store.OK || res.Bytes < 20000 {
		t.Errorf("%+v", res)
	}
}

// TestUnreachable checks that a target that cannot be used fails within its time with a reason.
func TestUnreachable(t *testing.T) {
	for name, f := range map[string]*fake{
		"refuses":     {down: true},
		"hangs":       {hangs: true},
		"no greeting": {hello: func() bson.D { return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 1}} }},
		"other set":   {hello: func() bson.D { return setMember("h:27017", true, 1, "h:27017") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.add("h:27017", f)
				began := time.Now()
				_, err := n.open(store.Config{Target: "mongodb://user:secret@h/?replicaSet=other", Timeout: 3 * time.Second})
				if err == nil {
					t.Fatal("no error")
				}
				if took := time.Since(began); took > 3*time.Second+100*time.Millisecond {
					t.Errorf("took %v", took)
				}
				requireMessage(t, err, "h:27017", "secret")
				n.set(func() {
					for c := range f.open {
						_ = c.Close()
					}
				})
			})
		})
	}
}

func requireMessage(t *testing.T, err error, wanted, forbidden string) {
	t.Helper()
	msg := err.Error()
	if !strings.Contains(msg, wanted) || strings.Contains(msg, forbidden) {
		t.Errorf("message %q should hold %q and not %q", msg, wanted, forbidden)
	}
}
