package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// formats lists the values of --format.
func formats() []string { return []string{"text", "md", "json", "csv", "gobench"} }

// printJSON writes a value for programs. What would do something on a terminal is escaped.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := direct(w).Write(visible.JSON(b.Bytes()))
	return err
}
