package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/run"
)

// recordsFile lists the directories of records that were written elsewhere than in plimsoll-data, the newest last.
// It is in PLIMSOLL_HOME, one quoted path a line.
const recordsFile = "records"

// mostKnown is the most directories that the list keeps.
const mostKnown = 200

// noteRecord adds the directory of a record to the list, so that serve finds it. The list is a convenience: an error
// changes nothing. A path with an @ is left out, because it may be an address with a password, given by mistake.
func noteRecord(env *environment, dir string) {
	at, err := filepath.Abs(dir)
	if env.getenv == nil || err != nil || strings.Contains(dir, "@") ||
		slices.Contains(strings.Split(filepath.ToSlash(at), "/"), run.DefaultDir) {
		return
	}
	home, err := engine.DefaultHome(env.getenv)
	if err != nil || os.MkdirAll(home, 0o700) != nil {
		return
	}
	list := slices.DeleteFunc(knownRecords(env), func(x string) bool { return x == at })
	if list = append(list, at); len(list) > mostKnown {
		list = list[len(list)-mostKnown:]
	}
	var b bytes.Buffer
	for _, x := range list {
		b.WriteString(strconv.Quote(x) + "\n")
	}
	_ = replace.Named(context.Background(), filepath.Join(home, recordsFile), 0o600, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
}

// knownRecords is the list, without directories that are gone or were never written.
func knownRecords(env *environment) (list []string) {
	home, err := engine.DefaultHome(env.getenv)
	if err != nil {
		return nil
	}
	text, err := safeopen.ReadFile(home, recordsFile, 1<<20)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		at, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil || !filepath.IsAbs(at) {
			continue
		}
		if info, err := os.Lstat(at); err == nil && info.IsDir() {
			list = append(list, at)
		}
	}
	return list
}

// elsewhereOf is the list without what is below a folder.
func elsewhereOf(env *environment, folder string) (list []string) {
	below, err := filepath.Abs(folder)
	if err != nil {
		return nil
	}
	for _, dir := range knownRecords(env) {
		if rel, err := filepath.Rel(below, dir); err != nil || !filepath.IsLocal(rel) {
			list = append(list, dir)
		}
	}
	return list
}
