package faultcut

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// serveVariable makes this program a faultfs in a process of its own, as it must be: its directory.
const serveVariable = "PLIMSOLL_FAULTCUT_TEST_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(serveVariable)
	if dir == "" {
		disktest.Alone()
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _, _ = os.Stdin.Read(make([]byte, 1)); cancel() }() // ends with the test
	if err := faultfs.Serve(ctx, optionsIn(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func optionsIn(dir string) faultfs.Options {
	return faultfs.Options{Data: filepath.Join(dir, "data"), Mount: filepath.Join(dir, "disks"), Socket: filepath.Join(dir, "socket")}
}

// serve starts a faultfs and makes a disk.
func serve(t *testing.T) (faultfs.Options, *faultfs.Client) {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-faultcut-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), serveVariable+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // what it says of its end does not matter here
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := optionsIn(dir)
	c, err := faultfs.DialWait(ctx, o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(ctx, "d0", 400<<20, faultfs.Device{}, nil); err != nil {
		t.Fatal(err)
	}
	return o, c
}

type silent struct{}

func (silent) Step(string)               {}
func (silent) Second(record.ProbeSecond) {}
func (silent) Note(string)               {}

// A disk that flushes keeps every acknowledged record through a power cut, and one that lies does not; counting
// flushes above it cannot tell them apart.
func TestPowerCut(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	for _, fs := range []string{"ext4", "xfs"} {
		for _, lie := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s lie=%v", fs, lie), func(t *testing.T) {
				o, client := serve(t)
				v := disktest.Make(t, fs, 400, "", filepath.Join(o.Mount, "d0"))
				if out, err := exec.Command("sync", "-f", v.Dir).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				want := record.Honest
				if lie {
					want = record.Lying
					if err := client.Set(t.Context(), "d0", faultfs.Fault{Kind: faultfs.Lie}); err != nil {
						t.Fatal(err)
					}
				}
				p := cut(t, v.Dir, o.Socket)
				c := p.Durability[len(p.Durability)-1]
				if c.Grade != "C" || c.Verdict != want || p.Verdict != want || c.Acknowledged != 300 || (c.Missing > 0) != lie {
					t.Errorf("%+v, overall %s", c, p.Verdict)
				}
				if a := p.Durability[0]; a.Verdict != record.NotProvable || !strings.Contains(a.Text, "faultfs emulates") {
					t.Errorf("grade A: %+v", a)
				}
				if c.Discarded == 0 && c.Loose == 0 {
					t.Errorf("nothing shows that the power was cut: %+v", c)
				}
			})
		}
	}
}

// cut probes a directory and cuts its power.
func cut(t *testing.T, dir, socket string) *record.Probe {
	t.Helper()
	cutter, err := Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	p, err := probe(t, t.Context(), dir, disk.Options{Progress: silent{}, Cutter: cutter})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// probe probes a directory, and fails the test if files are left in it.
func probe(t *testing.T, ctx context.Context, dir string, o disk.Options) (*record.Probe, error) {
	t.Helper()
	s := disk.Defaults(dir)
	s.Profiles, s.Clients, s.Segment, s.Duration = []string{spec.ProbeJournal}, []int{1}, 4<<20,
		int64(100*time.Millisecond)
	w, err := record.CreateProbe("", &record.Probe{Specification: s})
	if err != nil {
		t.Fatal(err)
	}
	o.Writer = w
	failed := disk.Run(ctx, o)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "plimsoll-") {
			t.Errorf("%s was left", e.Name())
		}
	}
	return w.Probe, failed
}

// The disk has no power for as long as a copy of the old filesystem is mounted in another namespace and could write to
// it.
func TestPowerReturnsAfterTheLastCopy(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	o, client := serve(t)
	v := disktest.Make(t, "ext4", 400, "", filepath.Join(o.Mount, "d0"))
	copied := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", "echo && exec cat")
	end, err := copied.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := copied.StdoutPipe()
	if err == nil {
		err = copied.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1)) // it has the copy
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { end.Close(); _ = copied.Wait() }()
	c, err := Dial(t.Context(), o.Socket)
	if err == nil {
		_, err = c.Cut(t.Context(), v.Dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	returned := make(chan error, 1)
	go func() { returned <- c.Return(t.Context(), v.Dir) }()
	select {
	case err := <-returned:
		t.Fatalf("power is back: %v", err)
	case <-time.After(time.Second):
	}
	if s, err := client.Stats(t.Context(), "d0"); err != nil || len(s.Faults) != 1 {
		t.Errorf("the disk: %+v, %v", s, err)
	}
	end.Close()
	if err := <-returned; err != nil {
		t.Error(err)
	}
}

// A directory that stands on nothing of the kind is refused before anything is cut.
func TestOtherStorage(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	o, _ := serve(t)
	c, err := Dial(t.Context(), o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	cut := func(ctx context.Context, dir string) error { _, err := c.Cut(ctx, dir); return err }
	for _, do := range []func(context.Context, string) error{c.Check, cut} {
		if err := do(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot be cut") {
			t.Errorf("%v", err)
		}
	}
	if err := c.Return(t.Context(), ""); err == nil {
		t.Error("power came back that was never cut")
	}
}
