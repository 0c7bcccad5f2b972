package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/finite"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/report"
)

func formats() []string { return []string{"text", "md", "json", "csv", "gobench"} }

func printYAML(w io.Writer, v any) error {
	b, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// summary is the head of a result as JSON.
type summary struct {
	Grade    report.Grade `json:"grade"`
	Answer   string       `json:"answer"`
	Sure     string       `json:"sure"`
	Where    string       `json:"where,omitempty"`
	Findings []string     `json:"findings"`
	Next     string       `json:"next,omitempty"`
}

// printSummarized prints a result that is an object, with its head as the first member "summary".
func printSummarized(w io.Writer, v any, d *report.Document) error {
	var b bytes.Buffer
	if err := encodeJSON(&b, v); err != nil {
		return err
	}
	rest, object := bytes.CutPrefix(b.Bytes(), []byte("{\n"))
	if d.Answer == "" || !object {
		return printJSON(w, v)
	}
	head := summary{Grade: d.Grade, Answer: d.Answer, Sure: d.Sure, Where: d.Where, Findings: []string{},
		Next: d.Next.Command}
	const most = 50 // of a record that may come from anybody
	for _, p := range d.Short[:min(most, len(d.Short))] {
		head.Findings = append(head.Findings, p.String())
	}
	var first bytes.Buffer
	if err := encodeJSON(&first, struct {
		Summary summary `json:"summary"`
	}{head}); err != nil {
		return err
	}
	joined := slices.Concat(bytes.TrimSuffix(first.Bytes(), []byte("\n}\n")), []byte(",\n"), rest)
	_, err := direct(w).Write(visible.JSON(joined))
	return err
}

// printJSON escapes what a terminal would interpret.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := encodeJSON(&b, v); err != nil {
		return err
	}
	_, err := direct(w).Write(visible.JSON(b.Bytes()))
	return err
}

func encodeJSON(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return finite.Encode(e, v)
}
