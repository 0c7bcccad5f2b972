package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// Bounds of what is checked. The record of a run of a day takes some 1 GB.
const (
	maxSums   = 4 << 20 // bytes of SHA256SUMS
	maxSummed = 8 << 30 // bytes of all files that one SHA256SUMS lists
)

// Seal writes the checksums of the files of a record, of any kind, in the format of sha256sum: of those in the table of
// kinds, as far as they are there, and those below [ClientsDir], [LogsDir] and [DiagnosticsDir]. Trials, rounds and
// parts have their own.
func Seal(dir string) error {
	var names []string
	for _, name := range Files() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	logs, err := filesBelow(dir, LogsDir+"/*", logFile)
	diagnostics, err2 := filesBelow(dir, DiagnosticsDir+"/*/metrics.*", diagnosticFile)
	clients, err3 := clientFiles(dir)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	names = slices.Concat(names, logs, diagnostics, clients)
	var b strings.Builder
	for _, name := range names {
		sum, err := checksum(dir, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return replace.File(filepath.Join(dir, SumsFile), []byte(b.String()), 0o644, true)
}

// unseal removes the checksums of a record that is going to be written again.
func unseal(dir string) error {
	if err := os.Remove(filepath.Join(dir, SumsFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func checksum(dir, name string) (string, error) {
	f, err := safeopen.Open(dir, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// doubtsOf returns the findings about the files of a record: changed files, missing checksums of a complete record, or
// no results. A record that is being written has no checksums yet.
func doubtsOf(dir, main string, r Result, held bool) ([]measure.Finding, error) {
	changed, err := altered(dir, main)
	unsummed := errors.Is(err, fs.ErrNotExist)
	if err != nil && !unsummed {
		return nil, fmt.Errorf("cannot check the record in %s: %w", dir, err)
	}
	var doubts []measure.Finding
	switch {
	case held:
		return nil, nil
	case len(changed) > 0:
		doubts = append(doubts, measure.Finding{ID: "altered", Severity: measure.Invalid,
			Text: fmt.Sprintf("%s changed after the record was completed. The record no longer shows what was measured. Get the original "+
				"record, or measure again.", strings.Join(changed, ", "))})
	case unsummed && ended(r.Common().Status):
		doubts = append(doubts, measure.Finding{ID: "unsummed", Severity: measure.Warning,
			Text: "the record is complete but has no checksums (" + SumsFile + "). Changes after the measurement cannot be detected. " +
				"Get the original record."})
	}
	return append(doubts, Empty(r)...), nil
}

// Empty returns a finding if a complete record has no results.
func Empty(r Result) []measure.Finding {
	if r.measured() || !ended(r.Common().Status) {
		return nil
	}
	return []measure.Finding{{ID: "nothing-measured", Severity: measure.Invalid,
		Text: "the record is marked as complete but has no results. Nothing follows from it. Measure again."}}
}

// ended reports whether a status claims a complete record.
func ended(s Status) bool {
	return !slices.Contains([]Status{Running, Interrupted, Failed, Killed}, s)
}

// altered returns the files that differ from SHA256SUMS or are not in it. An [fs.ErrNotExist] says that there is no
// SHA256SUMS.
func altered(dir, main string) ([]string, error) {
	sums, err := safeopen.ReadFile(dir, SumsFile, maxSums)
	if err != nil {
		return nil, err
	}
	var names []string
	listed, size := map[string]bool{}, int64(0)
	for line := range bytes.Lines(sums) {
		text := strings.TrimRight(string(line), "\r\n")
		want, name, ok := strings.Cut(text, "  ")
		if !ok || listed[name] ||
			name != filepath.Base(name) && !clientFile().MatchString(name) && !logFile().MatchString(name) &&
				!diagnosticFile().MatchString(name) {
			return nil, fmt.Errorf("%s: %.80q is not a line of checksums", filepath.Join(dir, SumsFile), text)
		}
		listed[name] = true
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			size += info.Size()
		}
		if size > maxSummed {
			return nil, &safeopen.LimitError{What: "the record", Most: maxSummed, Unit: "bytes"}
		}
		changed, err := alteredBelow(dir, name, want)
		if err != nil {
			return nil, err
		}
		names = append(names, changed...)
	}
	for _, name := range Files() {
		if !listed[name] && (name == main || safeopen.Exists(dir, name)) {
			names = append(names, name)
		}
	}
	return names, nil
}

// alteredBelow returns what was changed of the file of a record that the checksums name: the file itself or,
// if it is the checksums of a client, the files behind them.
func alteredBelow(dir, name, want string) ([]string, error) {
	if got, err := checksum(dir, name); err != nil || got != want {
		return []string{name}, nil
	}
	if path.Base(name) != SumsFile {
		return nil, nil
	}
	changed, err := altered(filepath.Join(dir, filepath.FromSlash(path.Dir(name))), RunFile)
	for i := range changed {
		changed[i] = path.Join(path.Dir(name), changed[i])
	}
	return changed, err
}

func (r *Run) measured() bool {
	// A run that only loads has no phase where all documents are there already.
	measured := r.Specification.LoadPhase.Only && r.Fill != nil
	for i := range r.Phases {
		p := &r.Phases[i]
		measured = measured || p.Counts.Attempted > 0 || p.Ended.Attempted > 0 || p.Rates.Achieved > 0
	}
	return measured
}

func (s *Study) measured() bool {
	return slices.ContainsFunc(s.Trials, func(t Trial) bool { return t.Status == TrialDone })
}

func (d *Drill) measured() bool { return len(d.Rounds) > 0 }

func (p *Probe) measured() bool { return len(p.Steps) > 0 || len(p.Durability) > 0 }

func (r *ComparisonReport) measured() bool {
	return len(r.Sides) > 0 && len(r.Comparisons) > 0
}

func (s *Suite) measured() bool {
	return slices.ContainsFunc(s.Parts, func(p Part) bool { return p.Status == PartDone || p.Status == PartFailed })
}
