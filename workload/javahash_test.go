package workload

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJavaStringHash(t *testing.T) {
	for s, want := range map[string]int32{
		"": 0, "a": 97, "Aa": 2112, "BB": 2112, "abc": 96354, "Hello": 69609650,
	} {
		if got := javaStringHash(s); got != want {
			t.Errorf("hash of %q is %d, want %d", s, got, want)
		}
	}
}

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
	if h := javaStringHash(names[0]); h != javaStringHash(names[15]) {
		t.Fatalf("%s and %s should have the same hash", names[0], names[15])
	}
}

func TestJavaHashUsesUTF16(t *testing.T) {
	// U+1F600 is the two units D83D DE00.
	if got, want := javaStringHash("😀"), int32(0xd83d)*31+int32(0xde00); got != want {
		t.Errorf("hash is %d, want %d", got, want)
	}
}
