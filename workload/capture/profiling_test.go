package capture

import (
	"hash/maphash"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Each pass over a profile reads the last second again. Every operation is read once: also one that came later than
// others of its millisecond, one that is older than the newest, and one of two that are equal.
func TestPassesOverAProfile(t *testing.T) {
	begun := time.Unix(1_700_000_000, 0).UTC()
	entry := func(millis int, op string) bson.Raw {
		at := begun.Add(time.Duration(millis) * time.Millisecond)
		raw, err := bson.Marshal(bson.D{{Key: "op", Value: op}, {Key: "ts", Value: at}})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	p := passes{from: begun, known: map[uint64]occurrence{}, seed: maphash.MakeSeed()}
	var profile []bson.Raw
	read := map[string]int{}
	pass := func(from time.Duration) {
		t.Helper()
		since := p.begin()
		if want := begun.Add(from); !since.Equal(want) {
			t.Errorf("the pass begins at %v, want %v", since, want)
		}
		for _, e := range profile {
			if !e.Lookup("ts").Time().Before(since) && p.isNew(e) {
				read[e.Lookup("op").StringValue()]++
			}
		}
	}
	pass(0)
	profile = append(profile, entry(1500, "a"), entry(1500, "same"))
	pass(0)
	profile = append(profile, entry(1500, "same"), entry(1500, "b"), entry(1490, "late"))
	pass(500 * time.Millisecond)
	pass(500 * time.Millisecond)
	profile = append(profile, entry(9000, "c"), entry(8100, "d"))
	pass(500 * time.Millisecond)
	pass(8 * time.Second)
	for op, want := range map[string]int{"a": 1, "same": 2, "b": 1, "late": 1, "c": 1, "d": 1} {
		if read[op] != want {
			t.Errorf("%s was read %d times, want %d", op, read[op], want)
		}
	}
	if len(p.known) > 2 {
		t.Errorf("%d entries are kept, also those that no pass reads again", len(p.known))
	}
}
