package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an installation needs and a machine has not is told before anything is made, with the package to install.
func TestNeedsOfDocumentDB(t *testing.T) {
	dir := t.TempDir()
	program := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("PATH", dir)
	says := func(what string, err error, want string) {
		t.Helper()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want one with %q", what, err, want)
		}
	}
	says("no debootstrap", checkDebootstrap("/etc/passwd"), "apt-get install debootstrap")
	program("debootstrap", "exit 0")
	says("no keys", checkDebootstrap(filepath.Join(dir, "keys")), "apt-get install debian-archive-keyring")
	says("debootstrap and keys", checkDebootstrap("/etc/passwd"), "")

	_, err := findGo(nil)
	says("no Go", err, `sudo env PATH="$PATH"`)
	elsewhere := program("go-elsewhere", "echo go1.21.0; echo auto")
	if got, err := findGo([]string{filepath.Join(dir, "none"), elsewhere}); err != nil || got != elsewhere {
		t.Errorf("found Go in %q, error %v", got, err)
	}
	says("Go that fetches a newer one", checkGo(t.Context(), elsewhere, true), "")
	says("Go that fetches none", checkGo(t.Context(), program("go-local", "echo go1.24.1; echo local"), true), "needs Go 1.25 or later")
	says("old Go", checkGo(t.Context(), program("go-old", "echo go1.19.8; echo; echo"), true), "is Go 1.19")
	says("Go of its own", checkGo(t.Context(), program("go-devel", "echo devel; echo auto"), true), "")
	https := program("go-https", "echo go1.26.0; echo auto; echo https://proxy.example,direct")
	says("no certificates", checkGo(t.Context(), https, false), "apt-get install ca-certificates")
	says("certificates", checkGo(t.Context(), https, true), "")
	says("no certificates, and none needed", checkGo(t.Context(), program("go-file", "echo go1.26.0; echo auto; echo file:///srv/go"), false), "")

	says("room", checkRoom(filepath.Join(dir, "not", "there", "yet"), 1), "")
	says("no room", checkRoom(filepath.Join(dir, "not", "there", "yet"), 1<<62), "set PLIMSOLL_HOME to a directory on another disk")
}

// Where one of two things fails the other one ends, and the error is that of what failed.
func TestBothOrNeither(t *testing.T) {
	ok := func(context.Context) error { return nil }
	wrong := errors.New("wrong")
	fails := func(context.Context) error { return wrong }
	endless := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	ended, end := context.WithCancel(t.Context())
	end()
	for i, c := range []struct {
		ctx        context.Context
		one, other func(context.Context) error
		want       error
	}{
		{t.Context(), ok, ok, nil},
		{t.Context(), fails, endless, wrong},
		{t.Context(), endless, fails, wrong},
		{ended, endless, endless, context.Canceled},
	} {
		if err := bothOrNeither(c.ctx, c.one, c.other); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%d: error %v, want %v", i, err, c.want)
		}
	}
	if got := lastLine(fmt.Errorf("go install failed: exit status 1\n  | fetching\n  | no route to host\n")); got != "no route to host" {
		t.Errorf("the last line is %q", got)
	}
}
