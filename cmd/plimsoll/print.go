package main

import (
	"encoding/json"
	"io"
)

// formats lists the values of --format.
func formats() []string { return []string{"text", "md", "json", "csv", "gobench"} }

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
