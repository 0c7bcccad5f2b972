package recorded

import (
	"strings"
	"testing"
	"time"
)

// TestNewestDocuments describes inserts, whose documents no source shows, by the newest documents of the collection.
func TestNewestDocuments(t *testing.T) {
	insert := profiled("insert", `{"insert": "items", "ordered": true, "$db": "shop"}`, `, "ninserted": 1`)
	for _, c := range []struct{ newest, want, not string }{
		{`{"_id": 900, "amt": 7, "state": "b"}`, "insert: items document: amt: {$sequence: {start: 0}} state: v2", "tags: {$array: {of: v1, count: 1}} state"},
		{`{"_id": 900, "amt": 7, "name": "c010001", "state": "b", "tags": ["a"]}`, "state: v2 tags:", ""},
	} {
		m := modelOf(t, Options{}, Read(strings.NewReader(insert)))
		items := itemsOf(t, 200, "")
		items.New = &Documents{}
		for range 20 {
			items.New.Add(document(t, c.newest), time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
		}
		text := encode(t, fileOf(t, m, Source{Name: "shop", From: "test", Database: "shop", Collections: []*Collection{items}}))
		line := strings.Join(strings.Fields(text), " ")
		if !strings.Contains(line, c.want) || c.not != "" && strings.Contains(line, c.not) {
			t.Errorf("the file does not have %q:\n%s", c.want, text)
		}
	}
	same := itemsOf(t, 200, "")
	if same.New = itemsOf(t, 40, "").Documents; differ(same.New, same.Documents) {
		t.Error("documents of one kind differ")
	}
}
