package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
)

// What was given by flag is refused by the flag's name, and what was not by the key's.
func TestLabFlagsInErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--members 0", `"--members" flag: 0 is too few`},
		{"--stripe 0", `"--stripe" flag: 0 is too few`},
		{"--members 99 --engine documentdb", "--members: 99 is not between"},
		{"--cores 2 --engine documentdb", "--cores: cores, memory and network are limits of isolated hosts. Set mode: isolated (--hosts isolated;"},
		{"--shards 2 --engine documentdb", "--shards: documentdb has no sharding. Use engine: {name: mongod} (--engine mongod)"},
		{"--binary /nowhere --engine documentdb", "--binary: binary and args are for mongod"},
		{"--binary /nowhere/mongod --engine mongod", "/nowhere/mongod"},
		{"--election never --engine documentdb", "--election: unknown value"},
	} {
		cmd := &cobra.Command{}
		l := addLabFlags(cmd)
		err := cmd.ParseFlags(strings.Fields(c.args))
		spec, applied := l.spec(nil, nil)
		if err == nil {
			err = applied
		}
		if err == nil {
			err = l.complete(t.Context(), t.TempDir(), &spec)
		}
		if err == nil {
			_, err = lab.Plan(t.Context(), t.TempDir(), spec)
			if err = l.named(err); !errors.Is(err, lab.ErrRefused) {
				t.Errorf("%s: the error is not a refusal any more: %v", c.args, err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.args, err, c.want)
		}
	}
	cmd := &cobra.Command{}
	l := addLabFlags(cmd)
	if err := cmd.ParseFlags([]string{"--memory", "1GiB"}); err != nil {
		t.Fatal(err)
	}
	if got := l.named(errors.New("storage.size: too big\nhosts.memory: too small; choose hosts.mode: plain")).Error(); got != "storage.size: too big\n--memory: too small; choose hosts.mode: plain" {
		t.Errorf("of a file and a flag: %s", got)
	}
}
