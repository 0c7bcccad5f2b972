package workload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func openShare(t *testing.T, name string, client, clients int) Workload {
	t.Helper()
	w, err := Open(Spec{Name: name, Records: 1000, Seed: 7, Run: 12345, Client: client, Clients: clients})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// opText is what an operation asks for.
func opText(op *Op) string {
	var b bytes.Buffer
	for _, r := range op.Requests {
		fmt.Fprintf(&b, "%v %x %x %d;", r.Verb, r.Filter, r.Pipeline, r.Limit)
		for _, u := range r.Updates {
			fmt.Fprintf(&b, "%x %x;", u.Filter, u.Update)
		}
	}
	return b.String()
}

func operations(s Stream, n int) []string {
	var list []string
	var op Op
	for range n {
		s.Next(&op)
		list = append(list, opText(&op))
		s.Done(&op, true)
	}
	return list
}

// Several processes together do what one with all streams would do, whatever their shares are.
func TestShareIsThePartsOfTheWhole(t *testing.T) {
	const clients, workers, n = 3, 8, 50
	turns := TakeTurns([]int{5, 1, 2})
	for _, name := range []string{"a", "b", "c", "catalog", "ycsb-a"} {
		whole := openShare(t, name, 0, 1)
		want := map[string]int{}
		for i := range workers {
			want[strings.Join(operations(whole.Stream(i, workers), n), "|")]++
		}
		got := map[string]int{}
		for c := range clients {
			part, err := Share(openShare(t, name, c, clients), turns[c], workers)
			if err != nil {
				t.Fatal(err)
			}
			own := int(turns[c].Before(workers))
			for i := range own {
				got[strings.Join(operations(part.Stream(i, own), n), "|")]++
			}
		}
		if len(got) != workers || len(want) != workers {
			t.Errorf("%s: %d different streams of %d in parts, %d in the whole", name, len(got), workers, len(want))
		}
		for s := range want {
			if got[s] != 1 && name != "catalog" { // catalog inserts documents with ids of their own client
				t.Errorf("%s: a stream of the whole is in no part", name)
			}
		}
	}
}

// What one process inserts, no other does.
func TestShareInsertsNothingTwice(t *testing.T) {
	turns := TakeTurns([]int{1, 1, 1})
	for _, name := range []string{"d", "e", "person", "location"} {
		seen := map[string]int{}
		for c := range 3 {
			part, err := Share(openShare(t, name, c, 3), turns[c], 3)
			if err != nil {
				t.Fatal(err)
			}
			s := part.Stream(0, 1)
			var op Op
			inserted := 0
			for range 3000 {
				s.Next(&op)
				for _, r := range op.Requests {
					for _, doc := range r.Docs {
						id := string(doc[4:min(len(doc), 40)]) // the _id comes first
						if other, ok := seen[id]; ok {
							t.Fatalf("%s: clients %d and %d insert the same document", name, other, c)
						}
						seen[id] = c
						inserted++
					}
				}
				s.Done(&op, true)
			}
			if inserted == 0 {
				t.Errorf("%s: client %d inserted nothing in 3000 operations", name, c)
			}
		}
	}
}

// YCSB's inserts begin with the same key in every process.
func TestShareRefusesCollidingInserts(t *testing.T) {
	turns := TakeTurns([]int{1, 1})
	_, err := Share(openShare(t, "ycsb-d", 0, 2), turns[0], 2)
	if err == nil || !strings.Contains(err.Error(), "same keys") {
		t.Errorf("ycsb-d for two processes: %v", err)
	}
	if _, err := Share(openShare(t, "ycsb-c", 0, 2), turns[0], 2); err != nil {
		t.Errorf("ycsb-c inserts nothing: %v", err)
	}
}

// Equal parts take turns one after the other.
func TestTakeTurnsOfEqualParts(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for i, turns := range TakeTurns(slices.Repeat([]int{60}, n)) {
			if turns.Cycle != n || !slices.Equal(turns.Mine, []int{i}) {
				t.Errorf("process %d of %d: %+v", i, n, turns)
			}
		}
	}
}

// Every turn belongs to one process. Each process has its share of a cycle, one of the first turns, and never fewer of
// more turns.
func TestTakeTurns(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		parts := make([]int, 1+random.IntN(20))
		sum := 0
		for i := range parts {
			parts[i] = 1 + random.IntN(1+random.IntN(300))
			sum += parts[i]
		}
		all := TakeTurns(parts)
		for n := range int64(2*sum + 1) {
			total := int64(0)
			for i, turns := range all {
				before := turns.Before(n)
				total += before
				if n >= int64(len(parts)) && before == 0 {
					t.Fatalf("parts %v: process %d has none of the first %d turns", parts, i, n)
				}
				if own := turns.Before(n + 1); own > before && turns.Nth(before) != n || own < before {
					t.Fatalf("parts %v: process %d has %d of the first %d turns, %d of one more, and its next is %d", parts, i, before, n,
						own, turns.Nth(before))
				}
			}
			if total != n {
				t.Fatalf("parts %v: all have %d of the first %d turns", parts, total, n)
			}
		}
		for i, turns := range all {
			if got := turns.Before(int64(turns.Cycle)) * int64(sum); got != int64(parts[i])*int64(turns.Cycle) {
				t.Fatalf("parts %v: process %d has %v of a cycle", parts, i, turns.Share())
			}
		}
	}
}
