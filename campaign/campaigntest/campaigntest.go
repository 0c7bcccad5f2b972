// Package campaigntest kills campaigns at every step and resumes them, for the tests of all kinds of campaigns. It is
// not in the program.
package campaigntest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Subject is a campaign of some kind.
type Subject struct {
	Main, Journal string // files of its record
	Jobs          int    // of the campaign; 0 if only the campaign knows
	// Perform performs the campaign in a directory to its end, from its beginning or from what is there. It calls step
	// wherever the process could be killed; finished is true if a job has just left its complete record.
	Perform func(t *testing.T, dir string, step func(finished bool)) error
	// Check checks the record of a campaign that ended.
	Check func(t *testing.T, dir string)
	// Every makes the test try only each so manyth step and cut; 0 is 1.
	Every int
}

// mostSteps is the most steps of a campaign. One that performs a job forever must not fill the disk with copies.
const mostSteps = 1000

// Killed resumes a campaign from what is on the disk at every step, and from a journal that is cut anywhere beside the
// main file of the beginning. It checks that no finished job is performed again.
func Killed(t *testing.T, s Subject) {
	t.Helper()
	whole, first := filepath.Join(t.TempDir(), "whole"), []byte(nil)
	type snapshot struct {
		dir      string
		finished int
	}
	var snapshots []snapshot
	finished := 0
	err := s.Perform(t, whole, func(f bool) {
		if f {
			finished++
		}
		if len(snapshots) == mostSteps {
			panic("the campaign does not end")
		}
		snapshots = append(snapshots, snapshot{Copy(t, whole), finished})
		if first == nil {
			first, _ = os.ReadFile(filepath.Join(whole, s.Main)) // it is not there before it was written
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Jobs == 0 {
		s.Jobs = finished
	}
	if finished != s.Jobs || len(snapshots) < 2*s.Jobs {
		t.Fatalf("%d of %d jobs were performed, in %d steps", finished, s.Jobs, len(snapshots))
	}
	s.Check(t, whole)
	for i := 0; i < len(snapshots); i += max(1, s.Every) {
		if more := s.resume(t, snapshots[i].dir); more != s.Jobs-snapshots[i].finished {
			t.Errorf("killed at step %d, after %d of %d jobs: %d more were performed", i, snapshots[i].finished, s.Jobs, more)
		}
	}
	journal, err := os.ReadFile(filepath.Join(whole, s.Journal))
	if err != nil {
		t.Fatal(err)
	}
	cuts := 0
	for cut := range len(journal) + 1 {
		if near := bytes.IndexByte(journal[max(0, cut-1):min(cut+1, len(journal))], '\n'); near < 0 && cut%199 != 0 {
			continue // package record reads every cut; these are the ends of lines, and some within
		}
		if cuts++; cuts%max(1, s.Every) != 0 {
			continue
		}
		dir := Copy(t, whole)
		for name, content := range map[string][]byte{s.Main: first, s.Journal: journal[:cut]} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if more := s.resume(t, dir); more != 0 {
			t.Errorf("with a journal cut at %d of %d, %d finished jobs were performed again", cut, len(journal), more)
		}
	}
}

// resume performs the rest of a campaign, checks it, and returns the number of jobs that were performed.
func (s *Subject) resume(t *testing.T, dir string) (performed int) {
	t.Helper()
	err := s.Perform(t, dir, func(finished bool) {
		if finished {
			performed++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Check(t, dir)
	return performed
}

// Copy copies a record as it is on the disk at this moment; without its lock it is that of a killed process.
func Copy(t *testing.T, from string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(to, "lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return to
}
