package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// outputs are commands that write what a flag names; %s is its place.
func outputs(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	probe := filepath.Join(dir, "probe")
	if _, err := (recordtest.Probe{}).Write(probe); err != nil {
		t.Fatal(err)
	}
	runs := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for i, run := range runs {
		if _, err := (recordtest.Run{Seconds: 6, Rate: 90, Median: 2e6, Seed: uint64(i)}).Write(run); err != nil {
			t.Fatal(err)
		}
	}
	log, err := filepath.Abs("../../workload/recorded/testdata/commands.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	record := []string{"workload", "record", "--from", "commands:" + log}
	return map[string][]string{
		"report -o":                   {"report", probe, "--format", "md", "-o", "%s"},
		"report -o, a page":           {"report", probe, "-o", "%s"},
		"compare -o":                  {"compare", runs[0], runs[1], "--format", "json", "-o", "%s"},
		"workload record -o":          append(record, "-o", "%s"),
		"workload record --recording": append(record, "-o", filepath.Join(dir, "out.yaml"), "--recording", "%s"),
	}
}

func runOutput(t *testing.T, args []string, place string, stdout any) (code int, out, problems string) {
	t.Helper()
	var words []string
	for _, a := range args {
		words = append(words, strings.ReplaceAll(a, "%s", place))
	}
	env, b, e := engineEnvironment(t.TempDir(), words...)
	if f, ok := stdout.(*os.File); ok {
		env.stdout = f
	}
	code = mainRun(t.Context(), env)
	return code, b.String(), e.String()
}

// What stands at the name of an output stays: a device, a FIFO, a link, and the target of a link.
func TestOutputsAreWrittenThrough(t *testing.T) {
	for name, args := range outputs(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			if err := os.WriteFile(at("file"), []byte("old"), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("file", at("link")); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
				t.Fatal(err)
			}
			places := []string{"fifo", "link"}
			if err := unix.Mknod(at("null"), syscall.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
				notrun.Here(t, "no device can be made: %v", err)
			} else {
				places = append(places, "null")
			}
			read := make(chan string, 1)
			go func() {
				b, _ := os.ReadFile(at("fifo"))
				read <- string(b)
			}()
			before := map[string]fs.FileMode{}
			for _, p := range places {
				info, err := os.Lstat(at(p))
				if err != nil {
					t.Fatal(err)
				}
				before[p] = info.Mode()
				if code, _, problems := runOutput(t, args, at(p), nil); code == exitFailure || code == exitUsage {
					t.Errorf("%s: exit %d\n%s", p, code, problems)
				}
			}
			for _, p := range places {
				if info, err := os.Lstat(at(p)); err != nil || info.Mode() != before[p] {
					t.Errorf("%s is now %v, and was %v (%v)", p, info.Mode(), before[p], err)
				}
			}
			file, err := os.ReadFile(at("file"))
			if err != nil || string(file) == "old" || len(file) == 0 {
				t.Errorf("the target of the link has %.20q, %v", file, err)
			}
			if f, err := os.OpenFile(at("fifo"), os.O_RDWR, 0); err == nil {
				f.Close() // the reader ends, also if nobody wrote
			}
			if text := <-read; len(text) == 0 {
				t.Error("the reader of the FIFO got nothing")
			}
			entries, _ := os.ReadDir(dir)
			if len(entries) != 2+len(places)-1 {
				t.Errorf("a temporary file is left: %v", entries)
			}
		})
	}
}

// "-" is standard output, and so is the file to which the shell sends it; what a command says goes elsewhere then.
func TestOutputToStandardOutput(t *testing.T) {
	for name, args := range outputs(t) {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runOutput(t, args, "-", nil)
			if code == exitFailure || code == exitUsage || out == "" || strings.Contains(out, "wrote -") {
				t.Errorf("-: exit %d, %.100q\n%s", code, out, problems)
			}
			if info, err := os.Lstat("-"); err == nil {
				t.Errorf("there is a file with the name -, of %d bytes", info.Size())
			}
			path := filepath.Join(t.TempDir(), "redirected")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString("before\n"); err != nil {
				t.Fatal(err)
			}
			if code, _, problems := runOutput(t, args, path, f); code == exitFailure || code == exitUsage {
				t.Errorf("the file of standard output: exit %d\n%s", code, problems)
			}
			got, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(got, []byte("before\n")) || len(got) < len(out)/2 {
				t.Errorf("the file of standard output has %.50q of %d bytes, %v", got, len(got), err)
			}
		})
	}
	env, _, problems := engineEnvironment(t.TempDir(), "workload", "record", "--from", "commands:x", "-o", "-", "--recording", "-")
	if code := mainRun(t.Context(), env); code != exitUsage {
		t.Errorf("two outputs on standard output: exit %d\n%s", code, problems)
	}
}

// A signal ends a command that waits for a pipe.
func TestWaitingForPipesEnds(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.yaml")
	log := "../../workload/recorded/testdata/commands.jsonl"
	for _, args := range [][]string{
		{"workload", "record", "--from", "commands:" + log, "-o", fifo},
		{"workload", "record", "--from", "commands:" + log, "-o", out, "--recording", fifo},
		{"workload", "record", "--from", "log:" + fifo, "-o", out},
		{"workload", "record", "--from", "commands:" + fifo, "-o", out},
	} {
		signals := make(chan os.Signal)
		env, _, problems := engineEnvironment(dir, args...)
		env.signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
		ended := make(chan struct{})
		go func() {
			for { // a second signal ends what is still being written
				select {
				case signals <- syscall.SIGTERM:
				case <-ended:
					return
				}
			}
		}()
		if code := mainRun(t.Context(), env); code != exitInterrupted {
			t.Errorf("%q: exit %d\n%s", args, code, problems)
		}
		close(ended)
	}
}

// What a forged log calls a collection does not write lines of its own on the terminal.
func TestForgedNamesOnTheTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "commands.jsonl")
	const forged = `{"time": "2026-03-01T10:00:00.250Z", "db": "shop", "command": {"find": "a\nwrote /etc/passwd\u001b[2J", "filter": {"b\nc": 1}}}` + "\n"
	if err := os.WriteFile(log, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.yaml")
	for _, args := range [][]string{
		{"workload", "record", "--from", "commands:" + log, "-o", out}, {"workload", "check", out}, {"workload", "show", out},
		{"workload", "compare", out, out},
	} {
		env, stdout, problems := engineEnvironment(dir, args...)
		if code := mainRun(t.Context(), env); code != exitSuccess {
			t.Errorf("%q: exit %d\n%s", args, code, problems)
		}
		for l := range strings.Lines(stdout.String()) {
			if strings.HasPrefix(l, "wrote /etc/passwd") || strings.Contains(l, "\x1b") {
				t.Errorf("%q printed the line %q", args, l)
			}
		}
	}
}
