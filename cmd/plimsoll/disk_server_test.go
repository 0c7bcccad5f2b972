package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/disk/doctor"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
)

// The doctor asks a mongod that answers as the manual says, and sends nothing that changes it. A real one takes the
// place of the stand-in in e2e where there is one.
func TestDoctorAsksMongod(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	uri := startStandin(t, "8.0.24", dir)
	var f server.Facts
	var err error
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(10 * time.Millisecond) { // until it listens
		if f, err = queryServer(permit.With(t.Context(), permit.All), uri); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if f.Version.Text != "8.0.24" || f.Kind != server.Mongod || f.Journal == nil ||
		!*f.Journal || f.Cache != 512<<20 || f.FCV != "8.0" || f.Data != 8192 || f.Host.Name != "standin" ||
		f.Host.Memory != 2<<30 || f.Concerns.W != "1" {
		t.Errorf("%+v", f)
	}
	got := map[string]string{}
	for _, found := range doctor.Check(doctor.Input{Server: &f, Now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}) {
		if found.Severity != record.DoctorUnknown { // what was not checked
			got[found.ID] = found.Severity
		}
	}
	if d := cmp.Diff(map[string]string{"cache-size": record.DoctorGood, "working-set": record.DoctorGood,
		"journal": record.DoctorGood, "kernel": record.DoctorGood,
		"limits": record.DoctorGood, "per-cpu-caches": record.DoctorWarning,
		"replica-set": record.DoctorAdvice, "version": record.DoctorGood, "feature-compatibility": record.DoctorGood}, got); d != "" {
		t.Error(d)
	}
	for _, c := range commandsTo(t, dir) {
		if !slices.Contains([]string{"buildInfo", "serverStatus", "listDatabases", "dbStats", "getParameter", "hostInfo", "getLog", "getCmdLineOpts"}, c) {
			t.Errorf("the doctor sent %s", c)
		}
	}
}

// startStandin starts a program that plays mongod and ends it with the test.
func startStandin(t *testing.T, version, dir string) (uri string) {
	t.Helper()
	return startServer(t, enginetest.StandinMongo(t, version), dir)
}

// startServer starts a mongod with its data in a directory and ends it with the test.
func startServer(t *testing.T, binary, dir string) (uri string) {
	t.Helper()
	free, err := engine.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free)
	cmd := exec.Command(binary, "--port", port, "--bind_ip", "127.0.0.1", "--dbpath", dir, "--logpath", filepath.Join(dir, "mongod.log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return "mongodb://127.0.0.1:" + port + "/?directConnection=true"
}

// commandsTo are the names of the commands that a stand-in was sent, without those of drivers on their own account.
func commandsTo(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "conversation.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		var entry map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if command, ok := entry["command"]; ok {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(command), `{"`), `"`)
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Fatalf("nothing was sent:\n%s", text)
	}
	return names
}
