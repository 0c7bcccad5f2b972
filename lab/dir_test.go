package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A socket works in a directory whose path is longer than the kernel takes.
func TestSocketInADeepDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 90), strings.Repeat("e", 90))
	makeDir(t, dir)
	l, err := listenIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if fi, err := os.Stat(filepath.Join(dir, socketFile)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	c, err := dialIn(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestEventsAreKeptInMemoryAndInAFile(t *testing.T) {
	dir := t.TempDir()
	l, err := openEvents(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	const n = keptEvents*3 + 7
	for range n {
		l.add("member", "text", map[string]string{"a": "b"})
	}
	for _, after := range []int64{0, 1, keptEvents, n - keptEvents/2, n - 1} {
		got := l.since(t.Context(), after)
		if len(got) != int(n-after) || got[0].Seq != after+1 || got[len(got)-1].Seq != n {
			t.Errorf("after %d: %d events, from %d to %d", after, len(got), got[0].Seq, got[len(got)-1].Seq)
		}
	}
	if len(l.recent) > keptEvents {
		t.Errorf("%d events are in memory", len(l.recent))
	}
	f, err := os.OpenFile(filepath.Join(dir, eventsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"seq":9999`) // torn
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if got := eventsAfter(l.path, n-2); len(got) != 2 {
		t.Errorf("%d events from a torn file, want 2", len(got))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := l.since(ended, n); got != nil {
		t.Errorf("nothing happened, but there are %v", got)
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"mongodb://u:p@h:1/?tls=true":              "mongodb://h:1/?tls=true",
		"mongodb://u:p%40@h:1,h:2/db?replicaSet=r": "mongodb://h:1,h:2/db?replicaSet=r",
		"mongodb://h:1/?x=a@b":                     "mongodb://h:1/?x=a@b",
		"nothing":                                  "nothing",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLabsThatAreNotThere(t *testing.T) {
	home := t.TempDir()
	if _, err := Open(t.Context(), home, "x"); !errors.Is(err, ErrNoLab) || !strings.Contains(err.Error(), home+" has no labs") {
		t.Errorf("got %v", err)
	}
	makeDir(t, Dir(home, "three"))
	if _, err := Open(t.Context(), home, "tree"); !errors.Is(err, ErrNoLab) || !strings.Contains(err.Error(), "did you mean three?") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.Context(), home, "three"); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "lab down three") {
		t.Errorf("got %v", err)
	}
	list, err := List(t.Context(), home)
	if err != nil || len(list) != 1 || list[0].Alive || list[0].Name != "three" {
		t.Errorf("%+v, %v", list, err)
	}
	if of := LabsOfRoot(0); of != "" {
		t.Errorf("root is told %q", of)
	}
	if of := LabsOfRoot(1000); !strings.Contains(of, "to root only") {
		t.Errorf("others are told %q", of)
	}
	for range 2 { // what is not there is no error
		if err := Down(t.Context(), home, "three", nil); err != nil {
			t.Error(err)
		}
	}
	if names, err := Names(home); err != nil || len(names) != 0 {
		t.Errorf("%v are left (%v)", names, err)
	}
	entries, err := os.ReadDir(labsDir(home))
	if err != nil || len(entries) != 0 {
		t.Errorf("%v are left (%v)", entries, err)
	}
	if err := Down(t.Context(), home, "../x", nil); !errors.Is(err, ErrRefused) {
		t.Errorf("a name that leads elsewhere: %v", err)
	}
}

func TestDiskGroupsBeginWithTheOwnHost(t *testing.T) {
	l := newFakeRooms().layout
	if diff := cmp.Diff([]string{"host2", "host3", "host1"}, diskGroups(l, "rs0-2")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"gateway1"}, diskGroups(l, "gateway-durable")); diff != "" {
		t.Error(diff)
	}
}

func TestSupervisorNeedsAnOrder(t *testing.T) {
	dir := t.TempDir()
	if err := Supervise(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "cannot read the specification") {
		t.Errorf("got %v", err)
	}
	if err := Supervise(t.Context(), filepath.Join(dir, "gone")); err == nil {
		t.Error("a directory that is not there was taken")
	}
}
