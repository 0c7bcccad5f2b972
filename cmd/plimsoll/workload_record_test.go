package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// recordFrom runs 'plimsoll workload record' on a file, with a channel of signals.
func recordFrom(t *testing.T, signals chan os.Signal, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &environment{args: append([]string{"workload", "record"}, args...), stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }, width: func() int { return 80 },
		signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	code = mainRun(context.Background(), env)
	return code, out.String(), errs.String()
}

const slowLine = `{"t":{"$date":"2026-03-01T10:00:00.100+00:00"},"s":"I","c":"COMMAND","id":51803,"ctx":"c","msg":"Slow query","attr":` +
	`{"type":"command","ns":"shop.carts","command":{"find":"carts","filter":{"_id":1},"$db":"shop"},"durationMillis":5}}` + "\n"

// TestRecordFiles reads a compressed log, and says what a file without operations has.
func TestRecordFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(slowLine + slowLine)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "w.yaml")
	whole := packed.String()
	for name, text := range map[string]string{"mongod.log.gz": whole, "cut.log.gz": whole[:len(whole)-5]} {
		if code, stdout, stderr := recordFrom(t, nil, "--from", "log:"+write(name, text), "-o", out); code != 0 ||
			!strings.Contains(stdout, "2 operations of 1 kinds") {
			t.Errorf("%s: exit %d\n%s%s", name, code, stdout, stderr)
		}
	}
	for name, c := range map[string]struct{ text, flags, want string }{
		"other.log": {slowLine, "--database=other", "1 shop. Choose one with --database"},
		"table.csv": {"id,name\n", "--sample=10", "1 line of another kind"},
		"log.xz":    {"\xfd7zXZ\x00", "--sample=10", "xz -dc FILE"},
	} {
		code, _, stderr := recordFrom(t, nil, "--from", "log:"+write(name, c.text), "-o", out, c.flags)
		if code == 0 || !strings.Contains(strings.Join(strings.Fields(stderr), " "), c.want) || strings.Contains(stderr, "--profile") {
			t.Errorf("%s: exit %d, %s; want %s", name, code, stderr, c.want)
		}
	}
}

// TestRecordFromAPipe ends a recording whose pipe has no writer, and one whose writer does nothing.
func TestRecordFromAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, sig := range map[string]os.Signal{"Ctrl-C": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		signals := make(chan os.Signal, 1)
		signals <- sig
		if code, _, stderr := recordFrom(t, signals, "--from", "log:"+path, "-o", "w.yaml"); code != exitInterrupted {
			t.Errorf("%s without a writer: exit %d, %s", name, code, stderr)
		}
	}
	writer, err := os.OpenFile(path, os.O_RDWR, 0) // does not wait for a reader
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, err := writer.Write([]byte(slowLine)); err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 1)
	ended := make(chan int)
	go func() {
		code, _, _ := recordFrom(t, signals, "--from", "log:"+path, "-o", filepath.Join(filepath.Dir(path), "w.yaml"))
		ended <- code
	}()
	signals <- os.Interrupt
	if code := <-ended; code != exitInterrupted {
		t.Errorf("with an idle writer: exit %d", code)
	}
}
