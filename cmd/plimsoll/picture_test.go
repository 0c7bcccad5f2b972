package main

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// TestTerminalPicture checks docs/pictures/terminal.svg, which shows what the terminal prints of a run; `make pictures`
// makes it anew.
func TestTerminalPicture(t *testing.T) {
	t.Parallel()
	r, err := recordtest.Run{Warmup: 10, Seconds: 120, Rate: 800, Open: true, Median: 2 * time.Millisecond,
		Seed: 11}.Write(filepath.Join(t.TempDir(), "nightly"))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	wide := newOutlet(&text, maxLine)
	wide.screen.columns = textWidth
	if err := writeDocument(wide, report.Of(r).In("results/nightly"), false); err != nil {
		t.Fatal(err)
	}
	picture := textPicture("plimsoll show results/nightly\n\n"+text.String(), 34)
	path := filepath.Join("..", "..", "docs", "pictures", "terminal.svg")
	if *update {
		if err := os.WriteFile(path, []byte(picture), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != picture {
		t.Errorf("%s shows an older text: run `make pictures` (%v)", path, err)
	}
}

// textPicture draws the first lines of a terminal after a prompt.
func textPicture(text string, most int) string {
	const perColumn, perLine, edge = 7.83, 19, 16
	lines := strings.Split(strings.TrimRight("$ "+text, "\n"), "\n")
	lines = lines[:min(len(lines), most)]
	columns := float64(textWidth + 2)
	width := int(2*edge + perColumn*columns)
	height := 2*edge + perLine*len(lines)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="plimsoll show on a terminal">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="6" fill="#14181d"/>`+"\n", width, height)
	b.WriteString(`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e4e8ec">` + "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		fill := ""
		if i == 0 {
			fill = ` fill="#5fd0a8"`
		}
		// The font of a reader may be wider than the one it was drawn for; its length keeps the columns. SVG joins spaces
		// that may break.
		indent := len(line) - len(strings.TrimLeft(line, " "))
		rest := []rune(strings.TrimRight(line[indent:], " "))
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n", edge+perColumn*float64(indent), edge+perLine*i+14,
			perColumn*float64(len(rest)), fill, html.EscapeString(strings.ReplaceAll(string(rest), " ", "\u00a0")))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
