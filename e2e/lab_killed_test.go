//go:build !race

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// sequence makes unique IDs.
var sequence atomic.Int64

// rounds of killing: more if a lab is made quickly.
const (
	plainRounds    = 8
	isolatedRounds = 3
	volumeRounds   = 5
)

// TestLabKilled kills plimsoll with SIGKILL at random moments while it makes or removes a lab. The next `lab down` must
// remove everything, and must not touch another running lab.
func TestLabKilled(t *testing.T) {
	inTurn(t, 30)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	other := labOf(t, "e2e-other", "--engine", "documentdb")
	foreign := exec.Command("sleep", "1000")
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = foreign.Process.Kill(); _ = foreign.Wait() })
	for round := range plainRounds {
		killedRound(t, rng, round, time.Duration(other.UsableAfter), "--engine", "documentdb")
	}
	for round := range isolatedRounds {
		killedRound(t, rng, round, 2*time.Duration(other.UsableAfter), "--engine", "documentdb", "--hosts", "isolated", "--size", "512MiB", "--tolerate", "1", "--host-count", "2")
	}
	for round := range volumeRounds { // these are usable within a fraction of a second, and have no servers
		killedRound(t, rng, round, time.Second, "--engine", "none", "--size", "512MiB", "--tolerate", "1", "--faults", "--host-count", "2")
	}
	now := status(t, "e2e-other")
	if got, want := pidsOf(now.Lab), pidsOf(other); now.State != "up" || !slices.Equal(got, want) {
		t.Errorf("another lab was touched: it is %s with the processes %v, and had %v", now.State, got, want)
	}
	if err := write(deadline(t), address(t, "e2e-other"), "a", 1); err != nil {
		t.Error(err)
	}
	if syscall.Kill(foreign.Process.Pid, 0) != nil {
		t.Error("a process of somebody else was ended")
	}
}

// pidsOf returns the first processes of all members: the servers. Their children change, and can have lower IDs after a
// wrap-around.
func pidsOf(l record.Lab) []int {
	var pids []int
	for _, m := range l.Members {
		if len(m.PIDs) > 0 {
			pids = append(pids, m.PIDs[0])
		}
	}
	return pids
}

// killedRound makes a lab, kills at random the process that makes or removes it, and removes the lab.
func killedRound(t *testing.T, rng *rand.Rand, round int, usable time.Duration, args ...string) {
	t.Helper()
	name := "e2e-killed"
	foreign := groupsAndNamespaces(name)
	whom := []string{"client", "supervisor", "both", "down", "down and supervisor"}[rng.IntN(5)]
	at := time.Duration(rng.Int64N(int64(usable) * 5 / 4))
	t.Logf("round %d: kill %s after %v", round, whom, at.Round(time.Millisecond))
	up := start(t, append([]string{"lab", "up", "--name", name, "--deadline", "5m"}, args...)...)
	if strings.HasPrefix(whom, "down") {
		<-up.done
		down := start(t, "lab", "down", name)
		time.Sleep(at / 8)
		if whom != "down" {
			killSupervisor(t, name)
		}
		_ = down.cmd.Process.Kill()
		<-down.done
	} else {
		time.Sleep(at)
		if whom != "client" {
			killSupervisor(t, name)
		}
		if whom != "supervisor" {
			_ = up.cmd.Process.Kill()
		}
		<-up.done
	}
	removeLab(t, name, foreign)
	if t.Failed() {
		t.Fatalf("round %d: %s was killed after %v; up said:\n%s", round, whom, at, up.stderr.String())
	}
}

// killSupervisor kills the supervisor of a lab, if it runs already.
func killSupervisor(t *testing.T, name string) {
	t.Helper()
	var s struct{ PID int }
	b, err := os.ReadFile(filepath.Join(labDir(t, name), "supervisor.json"))
	if err == nil && json.Unmarshal(b, &s) == nil && s.PID > 0 {
		_ = syscall.Kill(s.PID, syscall.SIGKILL)
	}
}

// labDir is the directory of a lab of these tests, without symbolic links.
func labDir(t *testing.T, name string) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(files(t).home)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(home, "labs", name)
}

// plimsollQuietly also runs a command after the test.
func plimsollQuietly(t *testing.T, args ...string) ended {
	t.Helper()
	f := files(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, f.binary, args...)
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+f.home)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
	return ended{args: args, code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// resource is one that the journal of a lab has.
type resource struct {
	Do, Kind, Name string
	Details        map[string]string
}

// there reports whether the resource exists. Ports, networks and links of a lab can be those of another one by now, and
// an attempt to reserve one that another lab has is in the journal too.
func (r resource) there() bool {
	switch {
	case r.Kind == "promise":
		owner, err := os.ReadFile(r.Name)
		return err == nil && string(owner) == r.Details["owner"]
	case r.Kind == "link":
		mac, err := os.ReadFile("/sys/class/net/" + r.Name + "/address")
		return err == nil && strings.TrimSpace(string(mac)) == r.Details["mac"]
	case !filepath.IsAbs(r.Name) || strings.HasPrefix(r.Name, "/dev/"):
		return false // it has the name of the lab, by which others are found
	}
	_, err := os.Lstat(r.Name)
	return err == nil
}

// journalled returns what the journal of a lab says that was made, without processes.
func journalled(t *testing.T, name string) (made []resource) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(labDir(t, name), "journal.ndjson"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		var r resource
		if json.Unmarshal([]byte(line), &r) == nil && r.Do == "make" && !strings.Contains(r.Kind, "process") {
			made = append(made, r)
		}
	}
	return made
}

// groupsAndNamespaces returns the control groups and network namespaces of labs with a name. An earlier run that was
// killed may have left some, because its labs have the same names.
func groupsAndNamespaces(name string) []string {
	var all []string
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*", "/run/plimsoll/netns"} {
		found, _ := filepath.Glob(dir + "/plimsoll-" + name + "-*")
		all = append(all, found...)
	}
	return all
}

// leftOf returns what remains of a lab: processes, mounts, loop devices, control groups, namespaces, links, files.
func leftOf(t *testing.T, name string, made []resource, foreign []string) []string {
	t.Helper()
	dir := labDir(t, name)
	// A new supervisor whose client was killed finds no lab and exits.
	left := processesOf(dir)
	for end := time.Now().Add(patience); len(left) > 0 && time.Now().Before(end); left = processesOf(dir) {
		time.Sleep(100 * time.Millisecond)
	}
	if _, err := os.Lstat(dir); err == nil {
		left = append(left, "the directory "+dir)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, dir+"/") {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, l := range loops {
		if b, err := os.ReadFile(l); err == nil && strings.HasPrefix(string(b), dir+"/") {
			left = append(left, l+": "+string(b))
		}
	}
	for _, path := range groupsAndNamespaces(name) {
		if !slices.Contains(foreign, path) {
			left = append(left, path)
		}
	}
	for _, r := range made {
		if r.there() {
			left = append(left, r.Kind+" "+r.Name)
		}
	}
	return left
}

// processesOf lists processes of a lab, by their commands, environments or open files.
func processesOf(dir string) []string {
	var left []string
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		proc := filepath.Join("/proc", e.Name())
		if stat, err := os.ReadFile(filepath.Join(proc, "stat")); err != nil || bytes.Contains(stat, []byte(") Z ")) {
			continue
		}
		cmd, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		inDir := bytes.Contains(cmd, []byte(dir+"/")) || bytes.Contains(cmd, []byte(dir+"\x00"))
		fds, _ := filepath.Glob(filepath.Join(proc, "fd", "*"))
		for _, fd := range append(fds, filepath.Join(proc, "cwd"), filepath.Join(proc, "exe")) {
			to, err := os.Readlink(fd)
			inDir = inDir || err == nil && strings.HasPrefix(to, dir+"/")
		}
		if inDir {
			left = append(left, "process "+e.Name()+": "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return left
}
