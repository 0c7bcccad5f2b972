package workload

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/javahash"
)

func ordered(names []string, order []int) string {
	out := make([]string, len(order))
	for at, i := range order {
		out[at] = names[i]
	}
	return strings.Join(out, " ")
}

func TestFieldsOfYCSBDocumentsAreInJavaOrder(t *testing.T) {
	names := fieldNames("field", 10)
	const want = "field1 field0 field7 field6 field9 field8 field3 field2 field5 field4"
	if got := ordered(names, javaMapOrder(names, 16)); got != want {
		t.Errorf("order of a HashMap is %s, want %s", got, want)
	}
	if got := ordered(names, javaSetOrder(names)); got != want {
		t.Errorf("order of a HashSet is %s, want %s", got, want)
	}
}

// The orders in testdata come from Java itself.
func TestOrdersAreThoseOfJava(t *testing.T) {
	data, err := os.ReadFile("testdata/javaorder.txt")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(data)) {
		head, want, ok := strings.Cut(strings.TrimSpace(line), ": ")
		words := strings.Fields(head)
		if !ok || words[0] == "#" {
			continue
		}
		n, err := strconv.Atoi(words[2])
		if err != nil {
			t.Fatal(err)
		}
		names := fieldNames(strings.Trim(words[1], "-"), n)
		order := javaMapOrder(names, 16)
		if words[0] == "set" {
			order = javaSetOrder(names)
		}
		if got := strings.Trim(fmt.Sprint(order), "[]"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", head, got, want)
		}
		checked++
	}
	if checked != 130 {
		t.Errorf("checked %d orders, want 130", checked)
	}
}

// Nine names with the same hash make the table grow although it is not full.
func TestJavaMapOrderWithCollisions(t *testing.T) {
	var names []string
	for i := range 16 {
		name := ""
		for bit := range 4 {
			name += []string{"Aa", "BB"}[i>>bit&1]
		}
		names = append(names, name)
	}
	if diff := cmp.Diff(naturalOrder(16), javaMapOrder(names, 16)); diff != "" {
		t.Errorf("names with one hash must keep their order:\n%s", diff)
	}
	if h := javahash.String(names[0]); h != javahash.String(names[15]) {
		t.Fatalf("%s and %s should have the same hash", names[0], names[15])
	}
}
