// Package gobuild builds programs of this module for tests that run them. It does not build what tests import, which Go
// does by itself.
package gobuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
)

// kept is a folder of this module for what was built: Go links a program of it again only if a source has changed.
const kept = "bin/test"

// Program builds a package of this module, named by its path in it, without cgo and without a version, as a test has
// none. Go keeps results of tests and knows only the files that the test itself reads, so all sources of the program
// are looked at: when one of them changes, the test runs again. Do not write to the file out: tests share it.
func Program(out, pkg string) error {
	path := "github.com/plimsoll-bench/plimsoll/" + pkg
	files, err := sources(path)
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			return err
		}
	}
	module := filepath.Dir(files[slices.IndexFunc(files, func(f string) bool { return filepath.Base(f) == "go.mod" })])
	program := filepath.Join(module, kept, filepath.Base(pkg))
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	release, err := filelock.Await(context.Background(), program+".lock", nil)
	if err != nil {
		return err
	}
	defer release()
	if _, err := run("build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", program, path); err != nil {
		return err
	}
	if os.Link(program, out) == nil {
		return nil
	}
	text, err := os.ReadFile(program) // out is on another filesystem
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o755)
}

// sources are the files of this module that a package is made of.
func sources(path string) ([]string, error) {
	const files = `{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{.Module.GoMod}}
{{range .GoFiles}}{{$d}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}
{{end}}{{end}}{{end}}`
	text, err := run("list", "-deps", "-f", files, path)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var list []string
	for line := range strings.Lines(text) {
		name := filepath.Clean(strings.TrimSpace(line))
		if name != "." && !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list, nil
}

func run(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, said.String())
	}
	return string(out), nil
}
