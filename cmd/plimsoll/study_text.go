package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/report"
)

// writeSections prints for the terminal what [report] has to say. Texts of records are made harmless.
func writeSections(w io.Writer, title string, sections []report.Section) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, report.Clean(title))
	for i := range sections {
		textSection(&b, &sections[i])
	}
	_, err := w.Write(b.Bytes())
	return err
}

func textSection(b *bytes.Buffer, s *report.Section) {
	fmt.Fprintln(b)
	if s.Title != "" {
		title := report.Clean(s.Title)
		fmt.Fprintf(b, "%s\n%s\n", title, strings.Repeat("-", utf8.RuneCountInString(title)))
	}
	for _, line := range s.Lines {
		fmt.Fprintln(b, wrap(report.Clean(line), textWidth, "  "))
	}
	for _, p := range s.Points {
		mark := "!"
		if strings.HasPrefix(p, string(measure.Note)+" ") {
			mark = "·"
		}
		fmt.Fprintf(b, "%s %s\n", mark, wrap(report.Clean(p), textWidth-2, "  "))
	}
	if s.Table != nil && len(s.Table.Rows) > 0 {
		t := table{left: s.Table.Left, last: s.Table.Last}
		for _, row := range append([][]string{s.Table.Header}, s.Table.Rows...) {
			cells := make([]string, len(s.Table.Header))
			for i := range cells {
				if i < len(row) {
					cells[i] = report.Clean(row[i])
				}
			}
			t.row(cells...)
		}
		t.write(b, "")
	}
	for i, n := range s.Notes {
		fmt.Fprintf(b, "[%d] %s\n", i+1, wrap(report.Clean(n), textWidth-4, "    "))
	}
}
