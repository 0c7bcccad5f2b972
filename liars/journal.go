package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// journal keeps the answers of trials, so that a family with long trials continues where it was stopped. It is a file
// of the rules that answer and of the code that plants: other rules begin again.
type journal struct {
	file *os.File
	kept map[trialKey]kept
}

type trialKey struct {
	Row  string `json:"row"`
	Seed uint64 `json:"seed"`
}

// kept is one line of a journal.
type kept struct {
	trialKey
	Answer answer `json:"answer"`
	Named  string `json:"named,omitempty"`
	Said   string `json:"said,omitempty"`
	// Seconds is how long the trial took.
	Seconds float64 `json:"seconds"`
}

// journalOf opens the journal of a family by the present rules and plants, in the cache of this user.
func journalOf(root, name string) (*journal, error) {
	hash, err := hashOf(root, slices.Concat(rulesOf, plantsOf)...)
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return openJournal(filepath.Join(cache, "plimsoll-liars", name+"-"+hash+".jsonl"))
}

func openJournal(path string) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f, kept: map[trialKey]kept{}}
	whole := int64(0)
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break // the last line may be torn
		}
		var k kept
		if err == nil {
			err = json.Unmarshal(line, &k)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		j.kept[k.trialKey] = k
		whole += int64(len(line))
	}
	if err := f.Truncate(whole); err != nil {
		return nil, err
	}
	_, err = f.Seek(whole, io.SeekStart)
	return j, err
}

// add keeps an answer before the next trial begins.
func (j *journal) add(k kept) error {
	j.kept[k.trialKey] = k
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(text, '\n'))
	return err
}

// rulesOf are the sources of the rules of what limits, plantsOf those of the planted limits.
var (
	rulesOf  = []string{"measure/limit", "measure/anatomy", "record/limit.go", "record/anatomy.go"}
	plantsOf = []string{"liars/limit*.go", "liars/client_machine.go"}
)

// plantedTrials are the trials of each of the two strengths of a planted limit. The number is not beside the plants:
// more trials of them continue the same journal.
const plantedTrials = 10

// hashOf is the hash of the sources of Go below paths, without tests.
func hashOf(root string, paths ...string) (string, error) {
	var files []string
	for _, p := range paths {
		found, err := filepath.Glob(filepath.Join(root, p, "*.go"))
		if err != nil {
			return "", err
		}
		if strings.HasSuffix(p, ".go") {
			if found, err = filepath.Glob(filepath.Join(root, p)); err != nil {
				return "", err
			}
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	h := sha256.New()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		rel, _ := filepath.Rel(root, name)
		fmt.Fprintf(h, "%s %d\n%s", filepath.ToSlash(rel), len(data), data)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// frozen says which rules answered: their hash, and the last commit that changed them.
func frozen(root string) (string, error) {
	hash, err := hashOf(root, rulesOf...)
	if err != nil {
		return "", err
	}
	args := append([]string{"-C", root, "log", "-1", "--format=%cs, commit %h", "--"}, rulesOf...)
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("ask git for the commit of the rules: %w", err)
	}
	text := string(bytes.TrimSpace(out)) + ", hash " + hash
	args = append([]string{"-C", root, "status", "--porcelain", "--"}, rulesOf...)
	changed, err := exec.Command("git", args...).Output()
	if len(changed) > 0 {
		text += " with changes"
	}
	return text, err
}
