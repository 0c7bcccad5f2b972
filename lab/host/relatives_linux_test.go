package host

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// A family counts children that come later, also those of a process that had none, forgets those that end, keeps what
// they used where somebody waited for them, and leaves no file open.
func TestFamilyOfAHost(t *testing.T) {
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, commands, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(t.Context(), process.Spec{Role: "family", Path: "/bin/sh", Log: w, Args: []string{"-c",
		`read x <` + "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(int(in.Fd())) + `; sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done; exec sleep 600' & read y <` +
			"/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(int(in.Fd())) + `; kill $!; wait; echo over; sleep 600`}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	w.Close()
	said := bufio.NewReader(out)
	say := func(want string) {
		t.Helper()
		if _, err := io.WriteString(commands, "go\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := said.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
			t.Fatalf("it says %q (%v)", line, err)
		}
	}
	open := openFiles(t)
	f := &family{root: p.PID, members: map[int]*relative{}}
	now := time.Now()
	if _, ok := f.usage(now); !ok || len(f.members) != 1 {
		t.Fatalf("the family has %d members", len(f.members))
	}
	f.members[p.PID].due = now.Add(childlessEvery) // it has had no children for a while
	say("done")
	f.usage(now.Add(time.Second))
	if len(f.members) != 1 {
		t.Error("a process that had no children is looked at every time")
	}
	u, _ := f.usage(now.Add(childlessEvery))
	if len(f.members) < 2 || u.CPUSeconds == 0 || u.Memory == 0 {
		t.Errorf("with its child the family of %d used %+v", len(f.members), u)
	}
	say("over")
	after, _ := f.usage(now.Add(childlessEvery + time.Second))
	if after.CPUSeconds < u.CPUSeconds {
		t.Errorf("a child that has ended took what it used along: %+v after %+v", after, u)
	}
	p.Kill()
	<-p.Done
	if _, ok := f.usage(now.Add(2 * childlessEvery)); ok || len(f.members) != 0 {
		t.Errorf("a family that has ended has %d members", len(f.members))
	}
	if left := openFiles(t); left > open {
		t.Errorf("%d files are open, %d were before", left, open)
	}
}

// openFiles is how many files of /proc this process has open.
func openFiles(t *testing.T) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasSuffix(to, "/stat") ||
			strings.HasSuffix(to, "/statm") || strings.HasSuffix(to, "/io") {
			n++
		}
	}
	return n
}

// Of a process it is known what it read from disks, and not what it wrote.
func TestBytesRead(t *testing.T) {
	text := "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 8192\nwrite_bytes: 12288\ncancelled_write_bytes: 0\n"
	if n := parseRead([]byte(text)); n != 8192 {
		t.Errorf("%d bytes were read", n)
	}
	if n := parseRead(nil); n != 0 {
		t.Errorf("%d bytes of nothing were read", n)
	}
}
