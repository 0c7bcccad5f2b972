package main

import (
	"bytes"
	"encoding/json"
	"io"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/finite"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
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

// printJSON escapes what a terminal would interpret.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := finite.Encode(e, v); err != nil {
		return err
	}
	_, err := direct(w).Write(visible.JSON(b.Bytes()))
	return err
}
