package workload

import (
	"bytes"
	"fmt"
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

// Several processes together do what one with all streams would do.
func TestShareIsThePartsOfTheWhole(t *testing.T) {
	const clients, workers, n = 3, 8, 50
	for _, name := range []string{"a", "b", "c", "catalog", "ycsb-a"} {
		whole := openShare(t, name, 0, 1)
		want := map[string]int{}
		for i := range workers {
			want[strings.Join(operations(whole.Stream(i, workers), n), "|")]++
		}
		got := map[string]int{}
		for c := range clients {
			part, err := Share(openShare(t, name, c, clients), c, clients, workers)
			if err != nil {
				t.Fatal(err)
			}
			own := (workers + clients - 1 - c) / clients
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
	for _, name := range []string{"d", "e", "person", "location"} {
		seen := map[string]int{}
		for c := range 3 {
			part, err := Share(openShare(t, name, c, 3), c, 3, 3)
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
	_, err := Share(openShare(t, "ycsb-d", 0, 2), 0, 2, 2)
	if err == nil || !strings.Contains(err.Error(), "same keys") {
		t.Errorf("ycsb-d for two processes: %v", err)
	}
	if _, err := Share(openShare(t, "ycsb-c", 0, 2), 0, 2, 2); err != nil {
		t.Errorf("ycsb-c inserts nothing: %v", err)
	}
}
