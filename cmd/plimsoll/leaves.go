package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// leaves says once, after the result, what a command left and where, unless it is quiet. loaded is the run that left
// documents; nil for none.
func leaves(env *environment, quiet bool, dir string, loaded *spec.Run) {
	if quiet {
		return
	}
	text := "record: " + dir
	if loaded != nil {
		switch t, err := run.ParseTarget(loaded.Target); {
		case err != nil || t.StoresNothing():
		case t.Kind == "mongodb" || t.Kind == "lab":
			database := "the database " + loaded.Database
			if loaded.Database == "" { // a study makes one for each set of data
				database = "databases plimsoll_…"
			}
			text += fmt.Sprintf("; documents: %s of %s", database, store.Redact(loaded.Target))
		default:
			text += "; documents: " + store.Redact(loaded.Target)
		}
	}
	fmt.Fprintln(env.stderr, text)
}

// remaining is the run whose documents remain: none if the lab was removed with them.
func remaining(removed *spec.Lab, loaded *spec.Run) *spec.Run {
	if removed != nil {
		return nil
	}
	return loaded
}

// keepFromGit returns a function for the end of the program: if the directory of records is new, git ignores it, so
// that measurements do not get into the repository in which a person works.
func keepFromGit() func() {
	_, err := os.Lstat(run.DefaultDir)
	if !errors.Is(err, fs.ErrNotExist) {
		return func() {}
	}
	return func() {
		// Without the directory this fails, and a file that cannot be written changes no result.
		_ = replace.New(filepath.Join(run.DefaultDir, ".gitignore"), []byte("# made by plimsoll\n*\n"), 0o644)
	}
}
