package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/server"
)

// lessUntilKilled reduces what a label names of a lab, says so, and waits to be killed.
func lessUntilKilled() {
	ctx := permit.With(context.Background(), permit.All)
	change, err := changing(&environment{getenv: os.Getenv}, os.Args[1])
	if err == nil {
		_, _, err = change(ctx, limit.Label(os.Args[2]), "", 0.5)
	}
	fmt.Println("reduced:", err)
	time.Sleep(time.Hour)
}

// A capacity that was reduced to confirm a limit is restored, also if the process is killed that reduced it.
func TestMongoReducedCapacityIsRestored(t *testing.T) {
	t.Parallel()
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return
	}
	const name = "reduced"
	home := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := func(args ...string) *exec.Cmd {
		return &exec.Cmd{Path: exe, Args: args, Dir: t.TempDir(), Env: append(os.Environ(), "PLIMSOLL_HOME="+home)}
	}
	if out, err := own("plimsoll", "lab", "up", "--binary", binary, "--members", "1", "--name", name,
		"--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := own("plimsoll", "lab", "down", name).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	ctx := permit.With(t.Context(), permit.All)
	env := &environment{getenv: func(string) string { return home }}
	primary, err := primaryOfLab(ctx, env, name)
	if err != nil {
		t.Fatal(err)
	}
	for label, what := range map[limit.Label]string{limit.Cache: "cache", limit.Tickets: "tickets"} {
		has := func(share float64) (list []parameter) {
			p := parameters{Lab: name, Member: primary}
			if err := p.onMember(ctx, env, func(c server.Commander) error {
				status, err := server.QueryStatistics(ctx, c)
				list = capacities(status, what, share)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return list
		}
		all, half := has(1), has(0.5)
		child := own("plimsoll-less", "lab:"+name, string(label))
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if said, _ := bufio.NewReader(out).ReadString('\n'); said != "reduced: <nil>\n" || !reflect.DeepEqual(has(1), half) {
			t.Errorf("%s: %q: %+v, want %+v", what, said, has(1), half)
		}
		if said, _ := own("plimsoll", "platform", "status").CombinedOutput(); !strings.Contains(string(said), "less "+what) {
			t.Errorf("the journal does not have it: %s", said)
		}
		_, _ = child.Process.Kill(), child.Wait()
		waitFor(t, what+" is restored", func() bool { return reflect.DeepEqual(has(1), all) })
		waitFor(t, "the journal is empty", func() bool {
			said, _ := own("plimsoll", "platform", "status").CombinedOutput()
			return strings.Contains(string(said), "no fault is in the journal")
		})
	}
}
