package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/report"
)

const textWidth = 100 // columns of running text

// writeDocument prints a document for the terminal: verdict and findings first, then facts, then sections. It removes
// control characters from texts of records.
func writeDocument(w io.Writer, d *report.Document) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, report.Clean(d.Title))
	width := 10
	for _, f := range d.Facts {
		width = max(width, utf8.RuneCountInString(f.Name))
	}
	if head := report.Facts("verdict", d.Verdict, "problem",
		d.Problem); len(head)+len(d.Objectives)+len(d.Findings) > 0 {
		fmt.Fprintln(&b)
		textFacts(&b, head, width)
		for _, p := range append(d.Objectives, d.Findings...) {
			textPoint(&b, p, strings.Repeat(" ", width))
		}
	}
	if facts := d.AllFacts(); len(facts) > 0 {
		fmt.Fprintln(&b)
		textFacts(&b, facts, width)
	}
	if f := d.Picture; f != nil {
		fmt.Fprintf(&b, "\n%s\n%s\n", f.Title, strings.Repeat("-", utf8.RuneCountInString(f.Title)))
		for _, line := range f.Lines() {
			fmt.Fprintln(&b, report.Clean(line))
		}
		fmt.Fprintln(&b, wrap(report.Clean(f.Note), textWidth, "  "))
	}
	for i := range d.Sections {
		if s := &d.Sections[i]; !s.Appendix {
			textSection(&b, s, width)
		}
	}
	if d.Record != "" {
		fmt.Fprintf(&b, "\nrecord      %s\n", report.Clean(d.Record))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// textFacts prints names and values in two columns.
func textFacts(b *bytes.Buffer, list []report.Fact, width int) {
	for _, f := range list {
		fmt.Fprintf(b, "%-*s  %s\n", width, f.Name, wrap(report.Clean(f.Value), textWidth-width-2,
			strings.Repeat(" ", width+2)))
	}
}

func textPoint(b *bytes.Buffer, p report.Point, indent string) {
	fmt.Fprintf(b, "%s%s\n", indent, wrap(report.Clean(p.String()), textWidth-len(indent), indent+"  "))
}

func textSection(b *bytes.Buffer, s *report.Section, width int) {
	fmt.Fprintln(b)
	if title := report.Clean(s.Heading()); title != "" {
		fmt.Fprintf(b, "%s\n%s\n", title, strings.Repeat("-", utf8.RuneCountInString(title)))
	}
	for _, line := range s.Lines {
		fmt.Fprintln(b, wrap(report.Clean(line), textWidth, "  "))
	}
	for _, p := range s.Points {
		textPoint(b, p, "")
	}
	textFacts(b, s.Facts, width)
	if s.Table != nil && len(s.Table.Rows) > 0 {
		narrow := s.Table.Narrow()
		t := table{left: narrow.Left, last: narrow.Last}
		for _, row := range append([][]string{narrow.Header}, narrow.Rows...) {
			cells := make([]string, len(narrow.Header))
			for i := range cells {
				if i < len(row) {
					cells[i] = report.Clean(row[i])
				}
			}
			t.row(cells...)
		}
		t.write(b, "")
	}
	if s.Code != nil { // to be copied, so lines stay whole
		fmt.Fprintf(b, "%s:\n  %s\n", report.Clean(s.Code.Label), strings.Join(s.Code.Lines(), "\n  "))
	}
	for i, n := range s.Notes {
		fmt.Fprintf(b, "[%d] %s\n", i+1, wrap(report.Clean(n), textWidth-4, "    "))
	}
}
