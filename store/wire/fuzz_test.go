package wire

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func FuzzReply(f *testing.F) {
	f.Add(marshal(f, found(bson.D{{Key: "_id", Value: 1}})))
	f.Add(marshal(f, wrote(1, writeError(0, 11000, "dup"))))
	f.Add(marshal(f, refusal(10107, "NotWritablePrimary", "RetryableWriteError")))
	f.Add(marshal(f, bson.D{{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: 1}}}}, {Key: "ok", Value: 1}}))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var r reply
		err := r.parse(doc)
		_ = checkDepth(doc)
		if err != nil {
			return
		}
		_ = r.serverError()
		_ = r.concern()
		_ = r.statementErrors()
		_ = clusterTimestamp(r.clusterTime)
		if r.hasBatch {
			first, docs, size, err := walkBatch(r.batch)
			if err == nil && (docs > 0) != (first != nil) || size > len(doc) {
				t.Errorf("%d documents of %d bytes, first %v, in an answer of %d bytes", docs, size, first, len(doc))
			}
		}
		// A document that the official driver accepts must have the same values here.
		if raw := bson.Raw(doc); raw.Validate() == nil {
			if n, ok := raw.Lookup("n").Int32OK(); ok && int64(n) != r.n && !repeated(raw, "n") {
				t.Errorf("n is %d, read as %d", n, r.n)
			}
		}
	})
}

func repeated(doc bson.Raw, key string) bool {
	elements, err := doc.Elements()
	n := 0
	for _, e := range elements {
		if e.Key() == key {
			n++
		}
	}
	return err != nil || n > 1
}

func FuzzMessage(f *testing.F) {
	c := &call{id: 5}
	f.Add(c.wrap(found(bson.D{{Key: "_id", Value: 1}})), int32(5))
	f.Add(c.wrap(bson.D{{Key: "ok", Value: 1}})[:20], int32(5))
	f.Fuzz(func(t *testing.T, msg []byte, id int32) {
		if len(msg) < headerLen {
			return
		}
		h, err := parseHeader(msg, maxMessageLimit)
		if err != nil || h.length > len(msg) {
			return
		}
		body, err := messageBody(msg[:h.length], h, id)
		if err == nil && len(body) > h.length-headerLen-5 {
			t.Errorf("a body of %d bytes in a message of %d", len(body), h.length)
		}
	})
}

func FuzzGreeting(f *testing.F) {
	f.Add(marshal(f, standalone()))
	f.Add(marshal(f, setMember("a:1", true, 3, "a:1", "b:2")))
	f.Fuzz(func(t *testing.T, doc []byte) {
		g, err := parseGreeting(doc)
		if err == nil && (g.maxMessage < 1024 || g.maxMessage > maxMessageLimit || g.maxBatch < 1) {
			t.Errorf("limits %+v", g)
		}
		_, _ = parseSASL(doc)
	})
}
