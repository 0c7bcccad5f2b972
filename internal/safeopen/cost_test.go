package safeopen

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type large struct {
	Fields [100]int64
	Next   *large   `json:"next"`
	List   []*large `json:"list"`
}

type document struct {
	Kind   string             `json:"kind"`
	List   []large            `json:"list"`
	Named  map[string]large   `json:"named"`
	Values map[string]float64 `json:"values"`
	Any    any                `json:"any"`
	embedded
}

type embedded struct {
	Inner []large `json:"inner"`
}

// Short texts that need hundreds of megabytes are refused in any notation. Long ones that need little memory are read.
func TestUnmarshalKnowsWhatADocumentTakes(t *testing.T) {
	many := func(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	for name, text := range map[string]string{
		"empty objects":    `{"list":[` + many("{}", 200_000) + `]}`,
		"null":             `{"list":[` + many("null", 200_000) + `]}`,
		"of another type":  `{"list":[` + many("0", 200_000) + `]}`,
		"escaped key":      `{"l\u0069st":[` + many("{}", 200_000) + `]}`,
		"another case":     `{"LIſT":[` + many("{}", 200_000) + `]}`,
		"twice":            `{"list":[` + many("{}", 90_000) + `],"list":[` + many("{}", 90_000) + `]}`,
		"embedded":         `{"inner":[` + many("{}", 200_000) + `]}`,
		"behind a pointer": `{"list":[{"list":[` + many(`{"next":{}}`, 90_000) + `]}]}`,
		"a map":            `{"named":{` + many(`"x":{}`, 150_000) + `}}`,
		"spaces":           `{ "list" : [ ` + many(" { } ", 200_000) + ` ] }`,
	} {
		var limit *LimitError
		var d document
		if err := Unmarshal([]byte(text), &d); !errors.As(err, &limit) {
			t.Errorf("%s: %d bytes were read: %v", name, len(text), err)
		}
	}
	for name, text := range map[string]string{
		"numbers":      `{"values":{"x":1},"any":[` + many("1.5", 200_000) + `]}`,
		"long text":    `{"kind":"` + strings.Repeat(`[{},\"`, 1<<20) + `"}`,
		"some objects": `{"list":[` + many(`{"next":{"list":[{}]}}`, 10_000) + `],"unknown":[` + many("{}", 100_000) + `]}`,
	} {
		var d document
		if err := Unmarshal([]byte(text), &d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The count ends for every text, and accepts small ones.
func FuzzAffordable(f *testing.F) {
	for _, text := range []string{`{"list":[{}],"any":{"a":[1,"x",null]}}`, `[`, `{"a"`, `{"a":}`, `"\`, `{"list":[{},,]}`, `{]`, `[}`, ` `} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d document
		if _, ok := costOf(text, &d, maxCost); !ok && json.Valid(text) && len(text) < 1000 {
			t.Errorf("%q is too much", text)
		}
	})
}
