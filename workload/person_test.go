package workload

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestPersonDocument(t *testing.T) {
	doc := bson.Raw(loadOne(open(t, "person", nil), 5))
	if diff := cmp.Diff([]string{"_id", "firstName", "lastName", "_class"}, fieldsOf(t, doc)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if got := doc.Lookup("_class").StringValue(); got != "hello.Person" {
		t.Errorf("_class is %s", got)
	}
	if got := doc.Lookup("_id").ObjectID().Hex(); got != "000000000000000000000005" {
		t.Errorf("_id of record 5 is %s", got)
	}
}

// A list is what a paging repository sends: one page, and the count of all documents.
func TestPersonList(t *testing.T) {
	const want = `list-find: find filter={} limit=20 may-be-empty; ` +
		`list-count: aggregate [{"$match": {}},{"$group": {"_id": 1,"n": {"$sum": 1}}}] may-be-empty`
	w := open(t, "person", map[string]string{"insertproportion": "0"})
	var op Op
	w.Stream(0, 1).Next(&op)
	if got := describeOp(w, &op); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPersonPages(t *testing.T) {
	w := open(t, "person", map[string]string{"insertproportion": "0", "pages": "3", "pagesize": "10"})
	s := w.Stream(0, 1)
	skips := map[int64]bool{}
	var op Op
	for range 200 {
		s.Next(&op)
		skips[op.Requests[0].Skip] = true
		if op.Requests[0].Limit != 10 {
			t.Fatalf("limit is %d, want 10", op.Requests[0].Limit)
		}
	}
	if diff := cmp.Diff(map[int64]bool{0: true, 10: true, 20: true}, skips); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func TestPersonMix(t *testing.T) {
	w := open(t, "person", nil)
	s := w.Stream(0, 1)
	counts := make([]int, 2)
	var op Op
	for range 26_000 {
		s.Next(&op)
		counts[op.Class]++
	}
	if counts[personList] < 900 || counts[personList] > 1100 {
		t.Errorf("of 26000 operations %d were lists, want about 1000", counts[personList])
	}
}

// ObjectIds grow with every insert, are above all loaded ones, and differ between runs and clients.
func TestObjectIDsGrow(t *testing.T) {
	last := idSource{}.loaded(1 << 40)
	for run := range uint64(3) {
		if run == 0 {
			continue
		}
		for n := range int64(300) {
			for client := range uint16(3) {
				id := idSource{run: run, client: client}.inserted(n)
				if bytes.Compare(last[:], id[:]) >= 0 {
					t.Fatalf("%x comes after %x", id, last)
				}
				last = id
			}
		}
	}
}

func TestWordLists(t *testing.T) {
	for name, words := range map[string][]string{
		"first names": firstNames, "last names": lastNames, "brands": brands, "categories": categories,
		"product tags": productTags, "place tags": placeTags,
	} {
		seen := map[string]bool{}
		for _, w := range words {
			if seen[w] || strings.TrimFunc(w, isLetter) != "" {
				t.Errorf("%s: %q is there twice or is not a word", name, w)
			}
			seen[w] = true
		}
	}
	if len(firstNames) < 200 || len(lastNames) < 200 {
		t.Errorf("only %d first and %d last names", len(firstNames), len(lastNames))
	}
	for _, c := range cities {
		if c.first == "" || len(c.second) != 2 {
			t.Errorf("city %q in country %q", c.first, c.second)
		}
	}
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
