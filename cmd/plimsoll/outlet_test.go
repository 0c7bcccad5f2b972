package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// evil is what a server or a record says that wants to be taken for plimsoll.
const evil = "\x1b]0;pwn\x07\x1b[31mEVIL\r\nplimsoll: all is well\n\u202ereversed\u009b2J"

func TestOutlet(t *testing.T) {
	var b bytes.Buffer
	o := newOutlet(&b, 12)
	for _, part := range []string{"a\x1b[31m\x07b\r\n", "naï", "ve\xe2", "\x9c\x93\n", "mongodb://u:secret@h/\n", "0123456789", "abcdefgh", "ijk\n", "tab\there\xff\n"} {
		if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("%q: %d, %v", part, n, err)
		}
	}
	want := "a�[31m�b \nnaïve✓\nmongodb://u:… (18 bytes in all)\n0123456789ab… (8 bytes in all)\ntab\there�\n"
	if got := b.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// here runs a command line in this process and returns its exit code and what it printed.
func here(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return hereWith(t, t.TempDir(), args...)
}

// hereWith is [here] with a home directory that is kept.
func hereWith(t *testing.T, home string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	env, o, e := engineEnvironment(home, args...)
	code = mainRun(context.Background(), env)
	return code, o.String(), e.String()
}

// checkClean looks for what does not belong on a terminal, and for lines that somebody else made.
func checkClean(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
	}); i >= 0 || !utf8.ValidString(text) {
		t.Errorf("%s: control characters are printed:\n%q", what, text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "plimsoll: all is well") || strings.HasPrefix(line, "reversed") {
			t.Errorf("%s: a forged line:\n%s", what, text)
		}
		if n := utf8.RuneCountInString(line); n > maxLine {
			t.Errorf("%s: a line of %d characters", what, n)
		}
	}
}

// TestLyingServer has a server whose errors hold what a terminal would act on.
func TestLyingServer(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, failure := range map[string]null.Failure{
		"command":   {Form: null.CommandFailure, Code: 2, Name: evil, Message: evil},
		"no rights": {Form: null.CommandFailure, Code: 13, Name: evil, Message: evil},
		"write":     {Form: null.WriteFailure, Code: 121, Name: evil, Message: evil + strings.Repeat("long ", 100_000)},
		"concern":   {Form: null.ConcernFailure, Code: 64, Name: evil, Message: evil},
	} {
		r := responder(t, null.Options{Count: 1 << 20, Fail: func(uint64, string) *null.Failure { return &failure }})
		for _, args := range [][]string{
			{"run", r.URI(), "--operations", "20", "--records", "10", "--timeout", "1s"},
			{"run", r.URI(), "--operations", "20", "--records", "10", "--timeout", "1s", "--load", "skip"},
			{"run", r.URI(), "--operations", "20", "--records", "10", "--timeout", "1s", "--load", "skip", "--client", "driver"},
			{"run", r.URI(), "--operations", "20", "--records", "10", "--timeout", "1s", "--load", "skip", "--format", "csv"},
			{"ycsb", "run", "mongodb", "-P", "workloada", "-p", "mongodb.url=" + r.URI(), "-p", "recordcount=10", "-p", "operationcount=10"},
			{"ycsb", "load", "mongodb", "-P", "workloada", "-p", "mongodb.url=" + r.URI(), "-p", "recordcount=10"},
			{"doctor", "--uri", r.URI()},
		} {
			code, stdout, stderr := here(t, args...)
			what := name + ": " + strings.Join(args, " ")
			checkClean(t, what, stdout)
			checkClean(t, what, stderr)
			if code == exitSuccess && args[0] == "run" && name != "concern" {
				t.Errorf("%s: exit 0\n%s", what, stdout)
			}
			for line := range strings.Lines(stderr) {
				if n := utf8.RuneCountInString(line); n > maxMessage+100 {
					t.Errorf("%s: a message of %d characters", what, n)
				}
			}
		}
	}
}

// poison puts what a terminal would act on into every text of a JSON file but those that say what the file is.
func poison(t *testing.T, path string, kept ...string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	var change func(key string, v any) any
	change = func(key string, v any) any {
		switch v := v.(type) {
		case string:
			if slices.Contains(kept, key) {
				return v
			}
			if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
				return v
			}
			if _, err := spec.ParseDuration(v); err == nil {
				return v
			}
			return v + evil
		case []any:
			for i := range v {
				v[i] = change(key, v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = change(k, v[k])
			}
		}
		return v
	}
	if b, err = json.Marshal(change("", tree)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLyingRecords prints records in which somebody wrote what a terminal would act on.
func TestLyingRecords(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, stderr := here(t, "run", "null:", "--operations", "200", "--records", "100", "--out", "run", "-q"); code != exitSuccess && code != exitInvalid {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	study := "name: x\nrun: {target: 'null:', workload: {records: 10}, load: {operations: 100}}\ntrials: 2\nfactors:\n  - {path: load.workers, levels: [1, 2]}\n"
	if err := os.WriteFile("study.yaml", []byte(study), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := here(t, "study", "run", "study.yaml", "--out", "study", "-q"); code == exitUsage || code == exitFailure {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	poison(t, filepath.Join("run", record.RunFile), "schema_version", "kind", "phase")
	poison(t, filepath.Join("study", record.StudyFile), "schema_version", "kind", "record")
	printed := 0
	for _, dir := range []string{"run", "study"} {
		for _, format := range formats() {
			for _, args := range [][]string{{"show", dir, "--format", format}, {"report", dir, "--format", format, "-o", "-"}, {"study", "status", dir, "--format", format}} {
				code, stdout, stderr := here(t, args...)
				checkClean(t, strings.Join(args, " "), stdout)
				checkClean(t, strings.Join(args, " "), stderr)
				if strings.Contains(stdout, "EVIL") && code != exitUsage {
					printed++
				}
			}
		}
	}
	if printed < 10 {
		t.Errorf("only %d forms showed the poisoned texts: this tests nothing", printed)
	}
	if err := os.WriteFile("binary", []byte(evil+"=1\n"+strings.Repeat("x", 300_000)+"=\x1b[2J\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", "null:", "-P", "binary"}, {"run", "-f", "binary"}, {"ycsb", "run", "mongodb", "-P", "binary"}, {"show", "a\x1b[31m\nplimsoll: all is well"}, {"run", evil}} {
		_, stdout, stderr := here(t, args...)
		checkClean(t, strings.Join(args, " "), stdout+stderr)
		if len(stderr) > 3*maxMessage {
			t.Errorf("%s: %d bytes of messages", args, len(stderr))
		}
	}
}
