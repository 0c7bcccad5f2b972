package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload/capture"
)

// madeDatabase is the note of a database for a verification. Each has a file of its own, until the database is dropped.
type madeDatabase struct {
	Database string    `json:"database"`
	By       procid.ID `json:"by"`
}

// notesOf are the first letters of the paths of the notes for one recorded database.
func notesOf(env *environment, address, database string) (string, error) {
	name, err := profilerFile(env, address, database)
	return strings.TrimSuffix(name, ".json") + "-verify-", err
}

// noteDatabase writes down a database before it is made. forget removes the note.
func noteDatabase(env *environment, address, database, made string) (forget func(), err error) {
	notes, err := notesOf(env, address, database)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(madeDatabase{made, procid.Self()})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(notes), 0o700); err != nil {
		return nil, err
	}
	name := notes + strings.TrimPrefix(made, verifyPrefix) + ".json"
	return func() { _ = os.Remove(name) }, replace.File(name, text, 0o600, true)
}

// dropLeft drops the databases that killed verifications left, and returns how many these were. Those of processes that
// live stay.
func dropLeft(ctx context.Context, env *environment, out io.Writer, address string,
	db *capture.Database) (dropped int, err error) {
	notes, err := notesOf(env, address, db.Name)
	if err != nil {
		return 0, err
	}
	names, err := filepath.Glob(notes + "*.json")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		text, err := safeopen.ReadPath(name, 1<<12)
		var left madeDatabase
		if err == nil {
			err = json.Unmarshal(text, &left)
		}
		if err != nil || !strings.HasPrefix(left.Database, verifyPrefix) || left.Database == db.Name {
			return dropped, fmt.Errorf("%s is not a note of a verification (%v). Remove it", name, err)
		}
		if left.By.Alive() {
			continue
		}
		if err := dropDatabase(ctx, address, left.Database); err != nil {
			return dropped, fmt.Errorf("cannot drop the database %s of a killed verification: %s", left.Database,
				store.OneLine(store.Redact(err.Error())))
		}
		fmt.Fprintf(out, "dropped the database %s of a killed verification\n", left.Database)
		dropped++
		if err := os.Remove(name); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

func dropDatabase(ctx context.Context, address, name string) error {
	db, err := capture.Open(ctx, address, name)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Drop(ctx)
}
