package server

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A server may send an answer whose outer document is right and whose inner ones are not. A look into it must not
// panic.
func TestValidLooksInside(t *testing.T) {
	good, err := bson.Marshal(bson.D{{Key: "a", Value: bson.D{{Key: "b", Value: bson.A{bson.D{{Key: "c", Value: 1}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Valid(good); err != nil {
		t.Fatalf("a good document: %v", err)
	}
	for at := range good {
		for _, b := range []byte{0, 1, 3, 4, 5, 0x7f, 0xff} {
			bad := append(bson.Raw(nil), good...)
			bad[at] = b
			if Valid(bad) == nil {
				_, _ = bad.LookupErr("a", "b", "0", "c") // an error is as good as a result
				_ = Text(bad, "a", "b", "0", "c")
			}
		}
	}
	deep := bson.D{}
	for range maxDepth + 1 {
		deep = bson.D{{Key: "a", Value: deep}}
	}
	b, err := bson.Marshal(deep)
	if err != nil {
		t.Fatal(err)
	}
	if Valid(b) == nil {
		t.Errorf("%d documents within each other are valid", maxDepth+2)
	}
}
