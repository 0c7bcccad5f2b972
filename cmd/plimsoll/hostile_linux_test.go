package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/serve"
)

// Limits of what a command may take, whatever record it is given.
const (
	hostileMemory = 512 << 20 // bytes of data
	hostileCPU    = 30 * time.Second
	hostileWait   = 5 * time.Minute // of all commands together: one that waits for a pipe waits for ever
)

// hostileSecret is in files outside of the records. Nobody may read it.
const hostileSecret = "PRECIOUS"

// programs are the programs that this test program can be.
func programs() map[string]func() {
	return map[string]func(){"plimsoll": main, "plimsoll-batch": batch, "plimsoll-less": lessUntilKilled}
}

// batch runs the command lines that it reads, and says on standard error when each begins and ends, with its processor
// time.
func batch() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var args []string
		if err := json.Unmarshal(lines.Bytes(), &args); err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "begin %s\n", strings.Join(args, " "))
		before := cpuTime()
		code := 0
		if args[0] == "pages" {
			pages(args[1])
		} else {
			code = mainRun(context.Background(), &environment{args: args, stdin: strings.NewReader(""), stdout: os.Stdout,
				stderr: os.Stdout,
				getenv: func(string) string { return "" }, now: time.Now, width: func() int { return 80 }, signals: interrupts})
		}
		fmt.Fprintf(os.Stderr, "end %d %d\n", code, cpuTime()-before)
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pages opens every page that a folder has.
func pages(dir string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s, err := serve.New(ln, serve.Options{Dir: dir, Metrics: true, Tool: tool(), Compare: compareSides})
	if err != nil {
		panic(err)
	}
	go func() { _ = s.Serve() }() // it ends with the process
	get := func(path string) string {
		r, err := http.Get("http://" + ln.Addr().String() + path)
		if err != nil {
			panic(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(b)
		return string(b)
	}
	ids := regexp.MustCompile(`name="r" value="([^"]+)"`).FindAllStringSubmatch(get("/"), -1)
	sides := "/compare?"
	for _, id := range ids[:min(len(ids), 4)] {
		get("/record/" + id[1])
		get("/report/" + id[1])
		get("/live/" + id[1])
		sides += "r=" + id[1] + "&"
	}
	get(sides)
	get("/metrics")
	_ = s.Close() // all that it has to say is said
}

// hostileCommands are all commands that read the records of others. What is in them is below work.
func hostileCommands(kind string) [][]string {
	list := [][]string{
		{"show", "r"}, {"show", "r", "--format", "csv"}, {"show", "r", "--format", "json"}, {"show", "r", "--format", "gobench"}, {"show", "r", "--format", "md"},
		{"report", "r", "-o", "-"}, {"report", "r", "good", "-o", "-"}, {"report", "r", "--format", "csv"}, {"report", "r", "--format", "ycsb"},
		{"size", "r", "--need", "ops=5,p99<1s"}, {"compare", "good", "r"}, {"compare", "r", "good", "--format", "csv"}, {"history", "."}, {"pages", "."},
	}
	if kind == record.StudyFile || kind == record.SuiteFile {
		list = append(list, []string{"study", "status", "r"}, []string{"study", "status", "r", "--format", "json"})
	}
	return list
}

// outside is what no command may touch: files to which mutated records lead.
type outside struct {
	dir   string
	watch *os.File
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{dir: filepath.Join(t.TempDir(), "outside")}
	if err := os.MkdirAll(filepath.Join(o.dir, "r"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret", "run.json", "r/run.json", "r/study.json", "r/drill.json", "r/probe.json"} {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(`{"schema_version":"1.0","kind":"run","problem":"`+hostileSecret+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	o.watch = os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { o.watch.Close() })
	const events = unix.IN_OPEN | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVE
	for _, dir := range []string{o.dir, filepath.Join(o.dir, "r")} {
		if _, err := unix.InotifyAddWatch(fd, dir, events); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// touched reports whether anything was opened or changed since it was asked last.
func (o *outside) touched() bool {
	b := make([]byte, 1<<16)
	n, err := unix.Read(int(o.watch.Fd()), b)
	return err == nil && n > 0
}

// hostileRun gives commands to a process with little memory, and returns what is wrong with how it took them.
func hostileRun(t *testing.T, dir string, commands [][]string) (wrong []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hostileWait)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, exe)
	cmd.Args, cmd.Dir, cmd.Stdout, cmd.Stderr = []string{"plimsoll-batch"}, dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=448MiB", "PLIMSOLL_HOME="+filepath.Join(dir, "home"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	most := uint64(len(commands)+1) * uint64(hostileCPU/time.Second)
	for what, limit := range map[int]uint64{unix.RLIMIT_DATA: hostileMemory, unix.RLIMIT_CPU: most} {
		if err := unix.Prlimit(cmd.Process.Pid, what, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range commands { // it begins with the first one, so the limits are in place
		if err := json.NewEncoder(stdin).Encode(args); err != nil {
			break // it is gone, and Wait says how
		}
	}
	stdin.Close()
	err = cmd.Wait()
	last := ""
	for line := range strings.Lines(stderr.String()) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "begin "):
			last = strings.TrimSpace(strings.TrimPrefix(line, "begin "))
		case len(fields) == 3 && fields[0] == "end":
			if spent, err := strconv.ParseInt(fields[2], 10, 64); err != nil || time.Duration(spent) > hostileCPU {
				wrong = append(wrong, fmt.Sprintf("%s: %v of processor time", last, time.Duration(spent)))
			}
		}
	}
	if err != nil {
		wrong = append(wrong, fmt.Sprintf("%s: the process ended with %v: %.3000s", last, err, stderr.String()[max(0, strings.LastIndex(stderr.String(), "begin ")):]))
	}
	for _, text := range []string{hostileSecret, "a fault in Plimsoll", "runtime error"} {
		if at := strings.Index(stdout.String(), text); at >= 0 {
			wrong = append(wrong, fmt.Sprintf("%q was printed: …%s…", text, stdout.String()[max(0, at-300):min(stdout.Len(), at+300)]))
		}
	}
	return wrong
}

// hostileRecords are the records that are mutated.
func hostileRecords(t *testing.T) map[string]string {
	t.Helper()
	records := map[string]string{}
	top := t.TempDir()
	for file, write := range recordKinds {
		records[file] = filepath.Join(top, file)
		if err := write(records[file]); err != nil {
			t.Fatal(err)
		}
	}
	records["lab"] = filepath.Join(top, "lab")
	if _, err := (recordtest.Run{Seconds: 5, Rate: 50, Median: 2e6, Seed: 2, Sampled: true, OnLab: true, StallAt: 2,
		Name: "lab"}).Write(records["lab"]); err != nil {
		t.Fatal(err)
	}
	return records
}

// TestHostileRecords changes records of every kind at random, and has every command read them with little memory: none
// may panic, hang, or touch what lies outside. PLIMSOLL_HOSTILE_ROUNDS asks for more than a few seconds of it, and
// PLIMSOLL_HOSTILE_SEED for other changes.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	number := func(name string, standard uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return standard
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	rounds, seed := number("PLIMSOLL_HOSTILE_ROUNDS", 2), number("PLIMSOLL_HOSTILE_SEED", 1)
	t.Logf("seed %d", seed)
	out := newOutside(t)
	records := hostileRecords(t)
	good := records[record.RunFile]
	for kind, base := range records {
		for round := range rounds {
			m := &mutator{r: rand.New(rand.NewPCG(seed, round)), outside: out.dir, others: records, sealed: true}
			work := filepath.Join(t.TempDir(), "work")
			for name, from := range map[string]string{"r": base, "good": good} {
				if err := os.CopyFS(filepath.Join(work, name), os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.mutate(filepath.Join(work, "r")); err != nil {
				t.Fatal(err)
			}
			out.touched() // a mutation may have opened something itself
			wrong := hostileRun(t, work, hostileCommands(kind))
			if out.touched() {
				wrong = append(wrong, "something outside of the record was opened or changed")
			}
			if len(wrong) > 0 {
				t.Errorf("%s, seed %d, round %d, after %s:\n%s", kind, seed, round, strings.Join(m.did, "; "), strings.Join(wrong, "\n"))
			}
			if err := os.RemoveAll(work); err != nil {
				t.Fatal(err)
			}
		}
	}
}
