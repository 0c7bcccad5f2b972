package faultfs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// After kill -9 whoever uses a disk gets errors and nothing hangs, the mount can be removed with the loop device still
// there, and the next faultfs serves the same disks again.
func TestKilledDaemon(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	name := d.disk("a", 320<<20)
	must(t, d.Create(t.Context(), "b", 1<<20, Device{ReadLatency: time.Millisecond}, &Cache{Size: 1 << 20}))
	d.put("b", "content")
	f := d.open(t, "a")
	l := d.attach("a")
	l.mkfs(t, "ext4")
	l.mountAs(t, "ext4")
	d.set("a", Fault{Kind: Hang, Ops: []string{"read"}})
	var all sync.WaitGroup
	all.Go(func() {
		if err := access(f)["read"](); err == nil {
			t.Error("a request of a killed faultfs succeeds")
		}
	})
	eventually(t, "it waits", func() bool { return d.stats("a").Waiting == 1 })
	d.kill()
	all.Wait()
	if _, err := os.Stat(name); !errors.Is(err, unix.ENOTCONN) {
		t.Errorf("looking at a dead mount gives %v", err)
	}
	if out, err := serveCommand(d.path("data"), d.path("mnt"), d.path("s")).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "umount -l") {
		t.Errorf("serving over a dead mount gives %v, %s", err, out)
	}
	for range 2 { // also when there is nothing any more
		must(t, Remove(t.Context(), d.path("mnt")))
	}
	if backing := command(t, "losetup", "--noheadings", "--output", "NAME", "--list", l.device); !strings.Contains(backing, l.device) {
		t.Error("the loop device was touched")
	}
	l.umount(t)
	l.detach(t)
	again := startIn(t, d.dir)
	if s := again.stats("b"); s.Device.ReadLatency != time.Millisecond || s.Cache == nil || s.Size != 1<<20 {
		t.Errorf("the disk came back as %+v", s)
	}
	if got, err := os.ReadFile(again.file("b")); err != nil || !strings.HasPrefix(string(got), "content") {
		t.Errorf("the disk has %.10q, %v", got, err)
	}
	// What an earlier process wrote counts as flushed.
	again.put("b", "other")
	must(t, again.Cut(t.Context(), "b", PowerCut{}))
	must(t, again.Restore(t.Context(), "b"))
	if got, err := os.ReadFile(again.file("b")); err != nil || !strings.HasPrefix(string(got), "content") {
		t.Errorf("after the power cut the disk has %.10q, %v", got, err)
	}
}

// SIGTERM ends it, also with a disk that hangs, and leaves neither mount nor socket; while a disk is in use Remove
// does not take the mount away.
func TestEnd(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	f := d.open(t, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := Remove(ctx, d.path("mnt")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("removing a mount in use gives %v", err)
	}
	if err := d.Remove(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("removing a disk in use gives %v", err)
	}
	d.set("a", Fault{Kind: Hang})
	var all sync.WaitGroup
	all.Go(func() {
		if err := access(f)["write"](); err != nil {
			t.Error(err)
		}
		f.Close()
	})
	eventually(t, "it waits", func() bool { return d.stats("a").Waiting == 1 })
	must(t, d.cmd.Process.Signal(syscall.SIGTERM))
	all.Wait()
	<-d.ended
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, mounted, err := mountedType(d.path("mnt")); err != nil || mounted {
		t.Errorf("mounted: %v, %v", mounted, err)
	}
	if _, err := os.Stat(d.path("s")); !os.IsNotExist(err) {
		t.Error("the socket is there still")
	}
}

// What would hide or take something of others is refused.
func TestRefusedPlaces(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	other := t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "file"), nil, 0o600))
	serve := func(data, mount, socket string) string {
		out, err := serveCommand(data, mount, socket).CombinedOutput()
		if err == nil {
			t.Errorf("it served at %s", mount)
		}
		return string(out)
	}
	fresh := func() string { return filepath.Join(t.TempDir(), "x") }
	for _, c := range []struct{ data, mount, socket, want string }{
		{fresh(), other, fresh(), "is not empty"},
		{fresh(), d.path("mnt"), fresh(), "is mounted at"},
		{d.path("data"), fresh(), fresh(), "another faultfs serves"},
		{fresh(), fresh(), d.path("s"), "answers at"},
		{fresh(), fresh(), filepath.Join(other, "file"), "is not a socket"},
		{fresh(), fresh(), strings.Repeat("x", 108), "108 characters"},
		{"", fresh(), fresh(), "data directory"},
	} {
		if got := serve(c.data, c.mount, c.socket); !strings.Contains(got, c.want) {
			t.Errorf("%+v gives %q", c, got)
		}
	}
	must(t, unix.Mount("tmpfs", other, "tmpfs", 0, ""))
	defer unix.Unmount(other, 0)
	if err := Remove(t.Context(), other); err == nil || !strings.Contains(err.Error(), "was not unmounted") {
		t.Errorf("removing a tmpfs gives %v", err)
	}
	if _, mounted, _ := mountedType(other); !mounted {
		t.Error("the tmpfs is gone")
	}
	for _, do := range []error{
		os.WriteFile(d.file("new"), nil, 0o600), os.Mkdir(d.file("dir"), 0o700), d.Create(t.Context(), "a/b", 512, Device{}, nil),
		d.Set(t.Context(), "none", Fault{Kind: Hang}), d.Cut(t.Context(), "none", PowerCut{}),
	} {
		if do == nil {
			t.Error("something was made that must not be")
		}
	}
	d.disk("a", 512)
	for _, do := range []error{os.WriteFile(d.file("new"), nil, 0o600), os.Remove(d.file("a")),
		os.Rename(d.file("a"), d.file("b"))} {
		if !errors.Is(do, unix.EPERM) {
			t.Errorf("%v, want EPERM: disks are made and removed by the control alone", do)
		}
	}
}

// Disks come and go; names are used again.
func TestListing(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	for _, name := range []string{"b", "a", "c"} {
		d.disk(name, 1<<20)
	}
	if err := d.Create(t.Context(), "a", 512, Device{}, nil); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("making a disk twice gives %v", err)
	}
	must(t, os.WriteFile(d.file("b"), bytes.Repeat([]byte("x"), 9000), 0))
	for range 2 {
		must(t, d.Remove(t.Context(), "b"))
	}
	d.disk("b", 4096)
	if got, err := os.ReadFile(d.file("b")); err != nil || !bytes.Equal(got, make([]byte, 4096)) {
		t.Errorf("a new disk has something on it, or %v", err)
	}
	disks, err := d.List(t.Context())
	must(t, err)
	entries, err := os.ReadDir(d.path("mnt"))
	must(t, err)
	var listed, seen string
	for _, s := range disks {
		listed += s.Name
	}
	for _, e := range entries {
		seen += e.Name()
	}
	if listed != "abc" || seen != "abc" {
		t.Errorf("listed %s, seen %s", listed, seen)
	}
}

// A device of a class is never faster than its class: below a real loop device, flushes and reads take at least what
// the model says. How much longer they take is not looked at, because machines are slow.
func TestDeviceIsNotFasterThanItsClass(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	class := Device{Class: "made up", ReadLatency: 2 * time.Millisecond, WriteLatency: time.Millisecond,
		FlushLatency: 3 * time.Millisecond,
		ReadRate:     100 << 20, Parallel: 1, Volatile: 1 << 20}
	must(t, d.Create(t.Context(), "a", 16<<20, class, nil))
	l := d.attach("a")
	f, err := os.OpenFile(l.device, os.O_RDWR|syscall.O_DIRECT, 0)
	must(t, err)
	defer f.Close()
	began, before := time.Now(), d.stats("a")
	for i := range int64(30) {
		_, err := f.WriteAt(buffer1[:4096], i*65536)
		must(t, err)
		must(t, f.Sync())
	}
	if took := time.Since(began); took < 30*4*time.Millisecond {
		t.Errorf("30 durable writes took %v", took)
	}
	if n := d.stats("a").Flushes - before.Flushes; n < 30 {
		t.Errorf("only %d flushes reached the disk", n)
	}
	began = time.Now()
	for i := range int64(5) {
		_, err := f.ReadAt(buffer1[:1<<20], i<<21)
		must(t, err)
	}
	if took := time.Since(began); took < 5*12*time.Millisecond {
		t.Errorf("5 reads of 1 MiB took %v", took)
	}
}

// A slow disk takes longer by the delay, and heals.
func TestSlow(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	f := d.open(t, "a")
	d.set("a", Fault{Kind: Slow, Delay: 20 * time.Millisecond, Ops: []string{"write"}})
	began := time.Now()
	for range 5 {
		must(t, access(f)["write"]())
	}
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("5 slow writes took %v", took)
	}
	d.clear("a")
	d.set("a", Fault{Kind: Slow, Delay: time.Hour})
	done := make(chan error, 1)
	go func() { done <- access(f)["read"]() }()
	eventually(t, "it waits", func() bool { return d.stats("a").Waiting == 1 })
	d.clear("a")
	must(t, <-done)
}
