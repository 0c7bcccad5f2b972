package embedded

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

func val(t testing.TB, v any) value {
	t.Helper()
	if v == nil {
		return nullValue
	}
	typ, data, err := bson.MarshalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return value{t: byte(typ), data: data}
}

// inOrder holds one line for each distinct place in the order; the values of one line are equal. The order is MongoDB's
// but for the types of cOther, which are the last lines.
func inOrder() [][]any {
	return [][]any{
		{nil},
		{math.NaN()},
		{math.Inf(-1)},
		{int64(math.MinInt64), -float64(1 << 63)},
		{int64(math.MinInt64 + 1)},
		{int64(-1<<53 - 1)},
		{int64(-1 << 53), -float64(1 << 53)},
		{-1.5}, {int32(-1), int64(-1), -1.0},
		{0, 0.0, math.Copysign(0, -1)},
		{math.SmallestNonzeroFloat64},
		{int32(1), int64(1), 1.0}, {1.5}, {2},
		{int64(1 << 53), float64(1 << 53)}, {int64(1<<53 + 1)}, {int64(1<<53 + 2), float64(1<<53 + 2)},
		{int64(math.MaxInt64 - 1)}, {int64(math.MaxInt64)}, {float64(1 << 63)}, {math.Inf(1)},
		{""}, {"\x00"}, {"\x00a"}, {"\x01"}, {"a"}, {"a\x00"}, {"a\x00b"}, {"a\x01"}, {"aa"}, {"b"}, {"é"},
		{bson.D{}}, {bson.D{{Key: "a", Value: 1}}}, {bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 1}}},
		{bson.D{{Key: "a", Value: 2}}}, {bson.D{{Key: "b", Value: 1}}}, {bson.D{{Key: "a", Value: "x"}}},
		{bson.A{}}, {bson.A{1}}, {bson.A{1, 2}}, {bson.A{2}}, {bson.A{"a"}},
		{bson.Binary{Data: []byte{9}}}, {bson.Binary{Data: []byte{1, 2}}}, {bson.Binary{Subtype: 5, Data: []byte{1, 1}}},
		{bson.ObjectID{1}}, {bson.ObjectID{1, 1}}, {bson.ObjectID{2}},
		{false}, {true},
		{time.UnixMilli(-5)}, {time.UnixMilli(0)}, {time.UnixMilli(7)},
		{bson.Regex{Pattern: "a"}}, {bson.Regex{Pattern: "b"}}, {bson.Timestamp{T: 1}}, {bson.Decimal128{}},
		{bson.MaxKey{}}, {bson.MinKey{}},
	}
}

func TestOrder(t *testing.T) {
	lines := inOrder()
	for i, a := range lines {
		for j, b := range lines {
			for _, av := range a {
				for _, bv := range b {
					checkOrder(t, av, bv, i-j)
				}
			}
		}
	}
}

func checkOrder(t *testing.T, av, bv any, want int) {
	a, b := val(t, av), val(t, bv)
	if got := compare(a, b); sign(got) != sign(want) {
		t.Errorf("compare(%v, %v) = %d, want %d", av, bv, got, sign(want))
	}
	ka, kb := appendKey(nil, a), appendKey(nil, b)
	if got := bytes.Compare(ka, kb); got != sign(want) {
		t.Errorf("keys of %v and %v: %x and %x compare %d, want %d", av, bv, ka, kb, got, sign(want))
	}
	if want != 0 && bytes.HasPrefix(ka, kb) {
		t.Errorf("the key of %v is a prefix of the key of %v: two keys in a row could be misread", bv, av)
	}
	invert(ka)
	invert(kb)
	if got := bytes.Compare(ka, kb); got != -sign(want) {
		t.Errorf("inverted keys of %v and %v compare %d, want %d", av, bv, got, -sign(want))
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// TestNumberOrder compares random integers and doubles near each other by exact arithmetic.
func TestNumberOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		i := int64(r.Uint64()) >> r.IntN(64)
		j := i
		for range r.IntN(3) { // neighbours, without leaving 64 bits
			j += int64(r.IntN(2000)) - 1000
		}
		if (j > i) != (j-i > 0) {
			continue
		}
		want := 0
		if i != j {
			want = 1
			if i < j {
				want = -1
			}
		}
		if got := compare(int64Value(i), int64Value(j)); sign(got) != want {
			t.Fatalf("compare(%d, %d) = %d, want %d", i, j, got, want)
		}
		f := float64(j)
		if f >= 1<<63 {
			continue
		}
		want = 0
		if d := int64(f); i != d {
			want = 1
			if i < d {
				want = -1
			}
		}
		if got := compare(int64Value(i), doubleValue(f)); sign(got) != want {
			t.Fatalf("compare(%d, %v) = %d, want %d", i, f, got, want)
		}
	}
}

func FuzzBSON(f *testing.F) {
	for _, line := range inOrder() {
		f.Add(raw(f, bson.D{{Key: "v", Value: line[0]}, {Key: "a", Value: bson.A{line[0]}}}))
	}
	f.Add([]byte{5, 0, 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, doc []byte) {
		if validate(doc, 1) != nil {
			return
		}
		var q filter
		var u update
		var p projection
		if q.compile(doc) == nil {
			q.match(doc)
		}
		if p.compile(doc) == nil {
			if out := p.applyTo(nil, doc); validate(out, 1) != nil {
				t.Fatalf("projecting made %x", out)
			}
		}
		if u.compile(doc) == nil {
			old := withID(doc, int32Value(1)) // every stored document has one
			if out, err := u.apply(nil, old); err == nil && validate(out, 1) != nil {
				t.Fatalf("updating made %x", out)
			}
		}
		_ = appendKey(nil, value{t: rawbson.Document, data: doc})
		var pipe session
		_ = pipe.compilePipeline(&pipeline{}, doc)
	})
}
