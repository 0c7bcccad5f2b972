package rawbson

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

func TestNestedDocuments(t *testing.T) {
	dst, at := Open([]byte("before"))
	dst = bsoncore.AppendHeader(dst, bsoncore.TypeEmbeddedDocument, "in")
	dst, inner := Open(dst)
	dst = bsoncore.AppendInt32Element(dst, "n", 7)
	dst = Close(Close(dst, inner), at)
	doc := bsoncore.Document(dst[at:])
	if err := doc.Validate(); err != nil || doc.Lookup("in", "n").Int32() != 7 || string(dst[:at]) != "before" {
		t.Errorf("%x: %v", dst, err)
	}
}

func TestValue(t *testing.T) {
	if got := Value(bsoncore.AppendStringElement(nil, "name", "x")); string(got) != "\x02\x00\x00\x00x\x00" {
		t.Errorf("%q", got)
	}
	for _, damaged := range []string{"", "\x02", "\x02name"} {
		if got := Value([]byte(damaged)); got != nil {
			t.Errorf("%q has the value %q", damaged, got)
		}
	}
}
