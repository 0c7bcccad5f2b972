package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
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
	t.Parallel()
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"engine list", exitSuccess, "documentdb  not installed", ""},
		{"engine clean", exitSuccess, "", ""},
		{"engine run documentdbx", exitUsage, "", `unknown engine "documentdbx", did you mean documentdb? (known: mongod, documentdb)`},
		{"engine run mongod --set ttl", exitUsage, "", `--set "ttl" is not NAME=VALUE`},
		{"engine run mongod --synchronous-commit off", exitUsage, "", "options of documentdb"},
		{"engine run documentdb --standalone", exitUsage, "", "options of mongod"},
		{"engine run documentdb --synchronous-commit maybe", exitUsage, "", "neither on nor off"},
		{"engine run mongod --binary /nowhere/mongod", exitUsage, "", "/nowhere/mongod"},
		{"engine run mongod --port 70000", exitFailure, "", "is not between 1 and 65535"},
		{"engine run mongod --auth --user 1a", exitFailure, "", "invalid user name"},
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
