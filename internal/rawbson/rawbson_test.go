package rawbson

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
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

func TestSplit(t *testing.T) {
	body, rest, ok := Split([]byte("\x07\x00\x00\x00ab\x00next"))
	if !ok || string(body) != "ab" || string(rest) != "next" {
		t.Errorf("%q, %q, %v", body, rest, ok)
	}
	for _, damaged := range []string{"", "\x05\x00\x00\x00", "\x04\x00\x00\x00\x00", "\x05\x00\x00\x00x", "\xff\xff\xff\xff\x00"} {
		if body, _, ok := Split([]byte(damaged)); ok {
			t.Errorf("%q has the body %q", damaged, body)
		}
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

func TestNext(t *testing.T) {
	doc := bsoncore.NewDocumentBuilder().AppendInt32("n", 7).AppendString("s", "x").Build()
	body, _, _ := Split(doc)
	key, v, size := Next(body)
	if n, ok := v.Number(); string(key) != "n" || n != 7 || !ok {
		t.Errorf("%q: %v", key, v)
	}
	body = body[size:]
	key, v, size = Next(body)
	if text, ok := v.Text(); string(key) != "s" || string(text) != "x" || !ok || size != len(body) {
		t.Errorf("%q: %v", key, v)
	}
	for _, damaged := range []string{"", "\x10", "\x10n", "\x10n\x00\x01", "\x00n\x00"} {
		if key, v, size := Next([]byte(damaged)); size != 0 {
			t.Errorf("%q has the element %q: %v", damaged, key, v)
		}
	}
}

// Every value is as long as the driver says.
func TestSize(t *testing.T) {
	scope := bson.CodeWithScope{Code: "x", Scope: bson.D{{Key: "a", Value: 1}}}
	for _, v := range []any{
		1.5, "text", bson.D{{Key: "a", Value: "b"}}, bson.A{1, "x"}, bson.Binary{Data: []byte{1, 2}}, bson.Undefined{},
		bson.ObjectID{1}, true, bson.DateTime(1), nil, bson.Regex{Pattern: "a", Options: "i"},
		bson.DBPointer{DB: "d", Pointer: bson.ObjectID{2}}, bson.JavaScript("x"), bson.Symbol("s"), scope,
		int32(1), bson.Timestamp{T: 1}, int64(1), bson.Decimal128{}, bson.MinKey{}, bson.MaxKey{},
	} {
		doc, err := bson.Marshal(bson.D{{Key: "v", Value: v}})
		if err != nil {
			t.Fatal(err)
		}
		value := bson.Raw(doc).Lookup("v")
		if got := Size(byte(value.Type), append(value.Value, "what follows"...)); got != len(value.Value) {
			t.Errorf("%s has %d bytes, want %d", value.Type, got, len(value.Value))
		}
	}
	for what, damaged := range map[string][]byte{
		"no such type":              {0x20, 1, 2, 3, 4},
		"no length":                 {String, 1, 0},
		"a negative length":         {Document, 0xff, 0xff, 0xff, 0xff},
		"a document of four bytes":  {Document, 4, 0, 0, 0},
		"half a regular expression": {Regex, 'a', 0, 'b'},
	} {
		if got := Size(damaged[0], damaged[1:]); got != -1 {
			t.Errorf("%s has %d bytes", what, got)
		}
	}
	if got := Size(String, []byte{9, 0, 0, 0}); got != 13 {
		t.Errorf("a text whose end has not come yet has %d bytes, want 13", got)
	}
}
