package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// readers are all ways to read a directory that somebody else may have written.
var readers = map[string]func(dir string) error{
	RunFile:        func(dir string) error { _, err := OpenRun(dir); return err },
	StudyFile:      func(dir string) error { _, err := OpenStudy(dir); return err },
	DrillFile:      func(dir string) error { _, err := OpenDrill(dir); return err },
	ProbeFile:      func(dir string) error { _, err := OpenProbe(dir); return err },
	SuiteFile:      func(dir string) error { _, err := OpenSuite(dir); return err },
	SuitePlan:      func(dir string) error { _, _, err := ReadSuitePlan(dir, nil); return err },
	CapacityFile:   func(dir string) error { _, err := OpenCapacity(dir); return err },
	ComparisonFile: func(dir string) error { _, err := OpenComparison(dir); return err },
	EventsFile:     func(dir string) error { _, err := Events(dir); return err },
	TimelineFile:   func(dir string) error { _, err := ProbeTimeline(dir); return err },
	IntervalsFile: func(dir string) error {
		_, err := EachLine(dir, func(*IntervalLine) error {
			return nil
		})
		return err
	},
	SamplesFile: func(dir string) error { _, err := EachSample(dir, func(Sample) error { return nil }); return err },
	StatusFile:  func(dir string) error { _, err := ReadStatus(dir); return err },
}

// A pipe has no writer and a device no end: a reader that opened one would never come back.
func TestReadersRefuseWhatIsNoFile(t *testing.T) {
	for file, read := range readers {
		for kind, plant := range map[string]func(string) error{
			"pipe":        func(path string) error { return syscall.Mkfifo(path, 0o644) },
			"device":      func(path string) error { return os.Symlink("/dev/zero", path) },
			"link out":    func(path string) error { return os.Symlink("/etc/hostname", path) },
			"sparse 1 TB": func(path string) error { return os.WriteFile(path, nil, 0o644) },
		} {
			dir := t.TempDir()
			path := filepath.Join(dir, file)
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(kind, "sparse") {
				if err := os.Truncate(path, 1<<40); err != nil {
					t.Fatal(err)
				}
			}
			if err := read(dir); err == nil {
				t.Errorf("%s as a %s was read", file, kind)
			}
			if kind != "sparse 1 TB" {
				if err := read(dir); !errors.Is(err, safeopen.ErrNotRegular) {
					t.Errorf("%s as a %s: got error %v, want that it is not a regular file", file, kind, err)
				}
			}
		}
	}
}

// Files of a few kilobytes that stand for gigabytes, and lines that are many and not long, are refused before they fill
// the memory or take minutes.
func TestReadersBoundWholeFiles(t *testing.T) {
	line := func(pad int) string {
		return "{" + strings.Repeat(" ", pad) + `"phase":"measure","at_ns":1,"source":"host:x"}` + "\n"
	}
	for _, file := range []string{IntervalsFile, SamplesFile} {
		for _, pad := range []int{0, 8 << 20} {
			dir := t.TempDir()
			var b bytes.Buffer
			z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
			if err != nil {
				t.Fatal(err)
			}
			for one, n := []byte(line(pad)), 0; n < 48<<20; n += len(one) {
				if _, err := z.Write(one); err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			var limit *safeopen.LimitError
			if err := readers[file](dir); !errors.As(err, &limit) {
				t.Errorf("%s: %d bytes, in lines of %d bytes, were read: %v", file, b.Len(), pad, err)
			}
		}
	}
	for file, c := range map[string]struct {
		lines int
		line  string
		read  func(dir string) error
	}{
		JournalFile:  {1 << 19, `{"event":"begin","trial":{"number":1,"attempt":1}}`, func(dir string) error { _, _, err := ReadJournal(dir); return err }},
		SuiteJournal: {1 << 19, `{"event":"begin","part":{"name":"one","kind":"study"}}`, func(dir string) error { _, _, err := ReadSuiteJournal(dir); return err }},
		EventsFile:   {safeopen.MaxLines, `{"at_ns":1,"kind":"a","text":"x"}`, readers[EventsFile]},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, file), bytes.Repeat([]byte(c.line+"\n"), c.lines), 0o644); err != nil {
			t.Fatal(err)
		}
		var limit *safeopen.LimitError
		if err := c.read(dir); !errors.As(err, &limit) {
			t.Errorf("%s: %d lines were kept: %v", file, c.lines, err)
		}
	}
}

// The last step of a path is not followed either where lines are added.
func TestJournalsFollowNoLink(t *testing.T) {
	for _, name := range []string{JournalFile, SuiteJournal} {
		dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
		if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if f, err := openLines(dir, name); err == nil {
			f.Close()
			t.Errorf("%s was opened through a link", name)
		}
		if _, err := os.Lstat(victim); err == nil {
			t.Errorf("the target of the link %s was created", name)
		}
	}
}

func TestHolderDoesNotWaitForAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, LockFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if pid, held := Holder(dir); held {
		t.Errorf("a pipe is held by %d", pid)
	}
	if _, err := Hold(dir); !errors.Is(err, safeopen.ErrNotRegular) {
		t.Errorf("got %v, want that the lock is no regular file", err)
	}
}

func TestHoldFollowsNoLink(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, LockFile)); err != nil {
		t.Fatal(err)
	}
	if release, err := Hold(dir); err == nil {
		release()
		t.Error("took a lock that is a link")
	}
	if b, err := os.ReadFile(victim); string(b) != "precious" {
		t.Errorf("the target of the link is now %q, %v", b, err)
	}
}

func TestRemoveOnlyRecords(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	files := map[string]string{
		filepath.Join(outside, "one", RunFile):            "{}",
		filepath.Join(top, "parts", "mine", DrillFile):    "{}",
		filepath.Join(top, "parts", "mine", "x", "y"):     "",
		filepath.Join(top, "parts", "foreign", "notes"):   "precious",
		filepath.Join(top, "parts", "pretender", "notes"): "precious",
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(top, "parts", "begun", RoundsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"linked": outside, "parts/linked": filepath.Join(outside, "one"), "parts/pretender/run.json": filepath.Join(outside, "one", RunFile),
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, removed := range map[string]bool{
		"parts/mine": true, "parts/begun": true, "parts/none": true, "parts/foreign": false, "parts/linked": false, "linked/one": false, "parts/pretender": false, "../x": false,
	} {
		if err := Remove(top, name); (err == nil) != removed {
			t.Errorf("removing %s: %v, want it removed: %v", name, err, removed)
		}
	}
	for path := range files {
		_, err := os.Lstat(path)
		if mine := strings.Contains(path, "mine"); mine != (err != nil) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A removal that is killed leaves a record, which the next one removes: the files by which it is recognized go last.
func TestRemovalEndsWithTheRecord(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "mine")
	for _, name := range []string{LockFile, DrillFile, ".drill.json.1", "rounds/1/run.json", "zoo/notes"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(watch)
	if _, err := syscall.InotifyAddWatch(watch, dir, syscall.IN_DELETE); err != nil {
		t.Fatal(err)
	}
	if err := Remove(top, "mine"); err != nil {
		t.Fatal(err)
	}
	events := make([]byte, 1<<12)
	n, err := syscall.Read(watch, events)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for at := 0; at+syscall.SizeofInotifyEvent <= n; {
		name := at + syscall.SizeofInotifyEvent
		at = name + int(binary.NativeEndian.Uint32(events[name-4:]))
		if text := strings.TrimRight(string(events[name:at]), "\x00"); text != "" {
			order = append(order, text)
		}
	}
	want := []string{"rounds", "zoo", ".drill.json.1", DrillFile, LockFile}
	if slices.Sort(order[:min(2, len(order))]); !slices.Equal(order, want) {
		t.Errorf("removed in the order %q, want %q", order, want)
	}
}

func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	writer, other := holdElsewhere(t, dir), holdElsewhere(t, t.TempDir())
	lock := filepath.Join(dir, LockFile)
	own, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	pid := writer.Process.Pid
	foreign := readHolding(filepath.Dir(lock))
	foreign.PID = other.Process.Pid
	for name, text := range map[string]string{
		"another process":  strings.Replace(string(own), strconv.Itoa(pid), strconv.Itoa(foreign.PID), 1),
		"another boot":     strings.Replace(string(own), foreign.Boot, "00000000-0000-0000-0000-000000000000", 1),
		"another start":    strings.Replace(string(own), `"start_ticks":`, `"start_ticks":1`, 1),
		"another pid room": strings.Replace(string(own), "pid:[", "pid:[1", 1),
	} {
		if text == string(own) {
			t.Fatalf("%s: the lock file was not changed: %s", name, own)
		}
		if err := os.WriteFile(lock, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		asked := pid
		if name == "another process" {
			asked = foreign.PID
		}
		if err := Interrupt(dir, asked); err == nil {
			t.Errorf("%s: a process was interrupted", name)
		}
	}
	if err := os.WriteFile(lock, own, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Interrupt(dir, pid); err != nil {
		t.Fatalf("the writer was not interrupted: %v", err)
	}
	if err := writer.Wait(); !interrupted(err) {
		t.Errorf("the writer ended with %v, want by SIGINT", err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other process is gone: %v", err)
	}
}

func interrupted(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == exitInterrupted
}
