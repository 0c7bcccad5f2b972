package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestExampleWorkloads compiles each workload file of the examples. What `check`, `show` and `sample` print of them is
// in golden files.
func TestExampleWorkloads(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/workloads/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	command := func(args ...string) string {
		t.Helper()
		env, out, problems := engineEnvironment(t.TempDir(), append([]string{"workload"}, args...)...)
		if code := mainRun(context.Background(), env); code != exitSuccess {
			t.Fatalf("%q: %d\n%s", args, code, problems)
		}
		return stableText(t, out.String())
	}
	goldenText(t, "workload-check", func(w io.Writer) error {
		_, err := io.WriteString(w, command(append([]string{"check"}, files...)...))
		return err
	})
	goldenText(t, "workload-show", func(w io.Writer) error {
		for _, f := range files {
			fmt.Fprintf(w, "== %s\n%s", filepath.Base(f), command("show", f, "--records", "1000"))
		}
		return nil
	})
	goldenText(t, "workload-sample", func(w io.Writer) error {
		for _, f := range files {
			fmt.Fprintf(w, "== %s\n%s", filepath.Base(f), command("sample", f, "--records", "1000", "-n", "6", "--seed", "3"))
		}
		return nil
	})
}

var dates = regexp.MustCompile(`"\$date":"([^"]+)"`)

// stableText replaces the present, and cuts long lines.
func stableText(t *testing.T, text string) string {
	text = dates.ReplaceAllStringFunc(text, func(s string) string {
		at, err := time.Parse(time.RFC3339, dates.FindStringSubmatch(s)[1])
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(at); d > -time.Hour && d < time.Hour {
			return `"$date":NOW`
		}
		return s
	})
	var b strings.Builder
	for line := range strings.Lines(text) {
		const most = 400
		if len(line) > most {
			line = strings.ToValidUTF8(line[:most], "") + "…\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
