package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// engineEnvironment is an environment with a home directory of its own.
func engineEnvironment(home string, args ...string) (*environment, *bytes.Buffer, *bytes.Buffer) {
	var stdout, stderr bytes.Buffer
	return &environment{args: args, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		getenv: func(name string) string { return map[string]string{"PLIMSOLL_HOME": home}[name] },
		now:    time.Now, width: func() int { return 80 },
		signals: func() (<-chan os.Signal, func()) { return make(chan os.Signal), func() {} },
	}, &stdout, &stderr
}

func TestEngineCommands(t *testing.T) {
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"engine list", exitSuccess, "documentdb  not installed", ""},
		{"engine clean", exitSuccess, "", ""},
		{"engine run documentdbx", exitUsage, "", `unknown engine "documentdbx", did you mean documentdb? (known: documentdb, mongod)`},
		{"engine run mongod --set ttl", exitUsage, "", `--set "ttl" is not NAME=VALUE`},
		{"engine run mongod --synchronous-commit off", exitFailure, "", "options of documentdb"},
		{"engine run documentdb --user ada", exitUsage, "", "--user and --password-file need --auth"},
		{"engine run documentdb --auth --password-file /nowhere/pw", exitUsage, "", "/nowhere/pw: no such file"},
		{"engine run documentdb --auth --password-file /dev/null", exitUsage, "", "/dev/null: not a regular file"},
		{"engine install mongod --feed /nowhere/full.json", exitFailure, "", "Without a network"},
		{"engine install mongod --version eight", exitFailure, "", "is not a release"},
		{"engine install documentdb --version 8.0.12", exitFailure, "", "options of mongod"},
	} {
		t.Run(c.args, func(t *testing.T) {
			env, stdout, stderr := engineEnvironment(t.TempDir(), strings.Fields(c.args)...)
			if code := mainRun(t.Context(), env); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("printed %q and %q, want %q and %q", stdout, stderr, c.stdout, c.stderr)
			}
		})
	}
}

// A server in the foreground prints its address alone, and an interrupt is its usual end.
func TestEngineRun(t *testing.T) {
	t.Parallel()
	e, ok := enginetest.DocumentDB(t)
	if !ok {
		return
	}
	inst, err := e.Installed(permit.With(t.Context(), permit.All))
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Dir(filepath.Dir(inst.Path))
	env, _, stderr := engineEnvironment(enginetest.Home(t, home), "engine", "run", "documentdb")
	interrupt := make(chan os.Signal, 1)
	env.signals = func() (<-chan os.Signal, func()) { return interrupt, func() {} }
	r, w := io.Pipe()
	env.stdout = w
	done := make(chan int, 1)
	go func() { done <- mainRun(context.Background(), env); w.Close() }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if u, parseErr := url.Parse(strings.TrimSpace(line)); err != nil || parseErr != nil || u.Scheme != "mongodb" ||
		u.Hostname() != "127.0.0.1" {
		t.Errorf("the first line is %q, error %v", line, err)
	}
	interrupt <- os.Interrupt
	if code := <-done; code != exitSuccess {
		t.Errorf("exit code %d after an interrupt; %s", code, stderr)
	}
}
