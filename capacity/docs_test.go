package capacity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// The price list that the documentation shows can be read.
func TestDocumentedPriceList(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "size.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	list, err := spec.ReadPriceList(strings.NewReader(text))
	if err != nil || !found || len(list.Nodes) != 1 || list.Nodes[0].Price != 412.50 || list.Date != "2026-11-01" {
		t.Errorf("%+v, %v", list, err)
	}
}
