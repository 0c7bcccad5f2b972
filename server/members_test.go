package server

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Members say what they are and what time it is for them; one that does not answer has a reason and nothing else.
func TestQueryMembers(t *testing.T) {
	ahead := time.Now().Add(time.Hour)
	applied := bson.D{{Key: "ts", Value: bson.Timestamp{T: 77}}, {Key: "t", Value: int64(1)}}
	hello, err := bson.MarshalExtJSON(bson.D{{Key: "setName", Value: "rs"}, {Key: "secondary", Value: true},
		{Key: "localTime", Value: ahead}, {Key: "lastWrite", Value: bson.D{{Key: "opTime", Value: applied}}},
		{Key: "ok", Value: 1}}, true, false)
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	list := QueryMembers(t.Context(), []string{"a:1", "b:1"}, func(address string) (Commander, func(), error) {
		if address == "b:1" {
			return nil, nil, errors.New("connection refused")
		}
		return &answers{replies: map[string]string{"buildInfo": `{"version": "8.0.12", "ok": 1}`, "hello": string(hello)}},
			func() { closed++ }, nil
	})
	a, b := list[0], list[1]
	off := (a.Clock - time.Hour).Abs()
	if a.State != "secondary" || a.Release != "8.0.12" || a.LastWrite != 77 || a.Problem != "" ||
		off > a.Within+time.Minute || a.Within <= 0 || closed != 1 {
		t.Errorf("%+v, closed %d times", a, closed)
	}
	if b != (MemberFacts{Address: "b:1", Problem: "connection refused"}) {
		t.Errorf("%+v", b)
	}
}
