package ledger

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A tag is seen wherever it stands among the fields of a document and of whatever type it is; a document without one may be
// said to have one, which only takes longer, and bytes that are cut off do no harm.
func TestMayHaveTag(t *testing.T) {
	rng := rand.New(rand.NewPCG(firstSeed(t), 9))
	values := []func() any{
		func() any { return strings.Repeat("_x", rng.IntN(20)) }, func() any { return bson.Binary{Data: make([]byte, rng.IntN(30))} },
		func() any { return rng.Int32() }, func() any { return rng.Int64() }, func() any { return rng.Float64() }, func() any { return bson.NewObjectID() },
		func() any { return time.Now() }, func() any { return true }, func() any { return nil }, func() any { return bson.D{{Key: "a", Value: "b"}} },
	}
	plain := 0
	for range 2000 {
		d := bson.D{}
		for i := range rng.IntN(8) {
			d = append(d, bson.E{Key: strings.Repeat("k", i), Value: values[rng.IntN(len(values))]()})
		}
		raw, _ := inside(marshal(d))
		if !mayHaveTag(raw) {
			plain++
		}
		at := rng.IntN(len(d) + 1)
		tagged := append(append(append(bson.D{}, d[:at]...), bson.E{Key: tagName, Value: values[rng.IntN(len(values))]()}), d[at:]...)
		with, _ := inside(marshal(tagged))
		if !mayHaveTag(with) {
			t.Fatalf("the tag in %v is not seen", tagged)
		}
		mayHaveTag(with[:rng.IntN(len(with))])
	}
	if plain < 1900 {
		t.Errorf("of 2000 documents without a tag only %d are known to have none", plain)
	}
}
