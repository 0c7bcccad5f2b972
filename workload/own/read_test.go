package own

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// example returns the file in the package's documentation.
func example(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(b)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			text.WriteString(code)
		}
	}
	return text.String()
}

func TestReadAndEncode(t *testing.T) {
	f, err := Read(strings.NewReader(example(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Collections) != 2 || len(f.Operations) != 5 || f.Operations[0].line == 0 {
		t.Fatalf("%+v", f)
	}
	var first, second bytes.Buffer
	if err := Encode(&first, f); err != nil {
		t.Fatal(err)
	}
	again, err := Read(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, first.String())
	}
	if err := Encode(&second, again); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("an encoded file is another one after reading:\n%s\n%s", first.String(), second.String())
	}
}

func TestUnknownKeys(t *testing.T) {
	for text, want := range map[string]string{
		"name: x\ncollection: []":          `line 2: unknown key "collection" in the workload, did you mean collections?`,
		"name: x\noperations:\n  - fnd: x": `line 3: unknown key "fnd" in operations, did you mean find?`,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
