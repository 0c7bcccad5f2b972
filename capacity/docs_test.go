package capacity

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// findingName finds where a finding gets its name.
var findingName = regexp.MustCompile(`(?:doubt|note)\("([a-z-]+)"`)

// A person who reads a finding looks its name up in the documentation.
func TestFindingsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "size.md"))
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"scaling-" + Linear, "scaling-" + Interpolated, "scaling-" + ByLaw, "scaling-" + ByPower}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range findingName.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	if len(names) < 20 {
		t.Errorf("found only %d findings: this test looks for them in the wrong way", len(names))
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "-") && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the finding %q is not in docs/size.md", name)
		}
	}
}

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
