package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// result is what a family gave, as it is stored in results/FAMILY.json.
type result struct {
	Family  string `json:"family"`
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Machine string `json:"machine"`
	About   string `json:"about,omitempty"` // what the trials ran on
	// Rules are those that answered, with the commit that changed them last, of families that resume.
	Rules   string   `json:"rules,omitempty"`
	Seed    uint64   `json:"seed"`
	Seconds float64  `json:"seconds"`
	Rows    []counts `json:"rows"`
}

// rowOf returns the counts of a row, and whether the result has it.
func (r result) rowOf(name string) (counts, bool) {
	for _, c := range r.Rows {
		if c.Row == name {
			return c, true
		}
	}
	return counts{}, false
}

// with is a result with other rows of a later one, which was made on the same machine.
func (r result) with(later result) (result, error) {
	if r.Machine != later.Machine || r.About != later.About || r.Seed != later.Seed || r.Rules != later.Rules {
		return r, fmt.Errorf("the stored result of %s was made on another machine, with another seed or by other rules: "+
			"run all of its rows", r.Family)
	}
	r.Rows = slices.Clone(r.Rows)
	for _, c := range later.Rows {
		if later.Date != r.Date || later.Commit != r.Commit {
			c.Made = later.Date + ", commit " + later.Commit
		}
		if i := slices.IndexFunc(r.Rows, func(old counts) bool { return old.Row == c.Row }); i >= 0 {
			r.Rows[i] = c
		} else {
			r.Rows = append(r.Rows, c)
		}
	}
	r.Seconds += later.Seconds
	return r, nil
}

// The stored results, and the pages that are rendered from them, relative to the root of the repository.
const (
	resultsDir    = "liars/results"
	trustPage     = "docs/trust.md"
	referencePage = "docs/reference/liars.md"
)

// pages are the texts of both pages, by name.
func pages(all []family, by map[string]result) map[string]string {
	return map[string]string{trustPage: page(all, by), referencePage: reference(all, by)}
}

// stored reads the stored results, by family.
func stored(root string, all []family) (map[string]result, error) {
	by := map[string]result{}
	for _, f := range all {
		data, err := os.ReadFile(filepath.Join(root, resultsDir, f.name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var r result
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("read the stored result of %s: %w", f.name, err)
		}
		by[f.name] = r
	}
	return by, nil
}

// store writes results and renders the pages of all stored ones.
func store(root string, all []family, results []result) error {
	for _, r := range results {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetIndent("", "\t")
		if err := e.Encode(r); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(root, resultsDir), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, resultsDir, r.Family+".json"), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	by, err := stored(root, all)
	if err != nil {
		return err
	}
	for name, text := range pages(all, by) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sign adds when, of which commit and on which machine a result was made.
func (r *result) sign(root string, now time.Time) error {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short=10", "HEAD")
	if err != nil {
		return fmt.Errorf("ask git for the commit: %w", err)
	}
	changed, err := git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!"+resultsDir, ":!"+trustPage, ":!"+referencePage)
	if err != nil {
		return fmt.Errorf("ask git for changes: %w", err)
	}
	if changed != "" {
		commit += " with changes"
	}
	r.Date, r.Commit, r.Machine = now.UTC().Format(time.DateOnly), commit, machine()
	return nil
}

// machine describes this machine in a few words.
func machine() string {
	words := []string{fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				words = append(words, strings.Join(strings.Fields(model), " "))
				break
			}
		}
	}
	return strings.Join(append(words, runtime.Version()), ", ")
}
