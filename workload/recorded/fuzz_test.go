package recorded

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestGiantLine reads past a line that is longer than any command.
func TestGiantLine(t *testing.T) {
	lines := bytes.SplitAfter(testFile(t, "commands.jsonl"), []byte("\n"))
	r := io.MultiReader(bytes.NewReader(lines[0]), io.LimitReader(repeat('x'), maxEntry+10), strings.NewReader("\n"),
		bytes.NewReader(lines[1]))
	m := modelOf(t, Options{}, Read(r))
	if got := fmt.Sprint(m.Operations, m.Total().Skipped); got != "2 map[damaged or cut off:1]" {
		t.Errorf("got %s", got)
	}
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}
