//go:build !race

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// volumeLab makes a lab without a database that is removed with the test.
func volumeLab(t *testing.T, name string, args ...string) {
	t.Helper()
	removeAfter(t, name)
	plimsoll(t, append([]string{"lab", "up", "--engine", "none", "--name", name, "--deadline", "5m"}, args...)...).must(t, 0)
}

// probeOf probes a volume of a lab and returns the record.
func probeOf(t *testing.T, target string, args ...string) *record.Probe {
	t.Helper()
	e := plimsoll(t, append([]string{"disk", target, "--profile", "random", "--operations", "mixed", "--threads", "2", "--duration", "300ms",
		"--size", "8MiB", "--segment", "1MiB", "--quiet", "--out", out}, args...)...)
	p, err := record.OpenProbe(filepath.Join(e.dir, out))
	if err != nil {
		t.Fatalf("no record: %v\n%s\n%s", err, e.stdout, e.stderr)
	}
	return p
}

// TestVolumesWithoutADatabase makes labs of volumes only. Each filesystem is mounted, is probed, and loses its power if
// its disks support that. Nothing remains.
func TestVolumesWithoutADatabase(t *testing.T) {
	inTurn(t, 25)
	if !disktest.Able(t) {
		return
	}
	for _, c := range []struct{ name, filesystem, devices string }{
		{"ext4", "ext4", "1"}, {"xfs", "xfs", "1"}, {"btrfs", "btrfs", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := "e2e-volumes-" + c.name
			args := []string{"--size", "512MiB", "--backend", "disk"}
			if c.name == "btrfs" {
				args = []string{"--size", "512MiB", "--backend", "btrfs", "--stripe", "2", "--hosts", "isolated"}
			} else {
				args = append(args, "--faults")
			}
			file := filepath.Join(t.TempDir(), "lab.yaml")
			if err := os.WriteFile(file, []byte("storage: {filesystem: "+c.filesystem+"}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			volumeLab(t, name, append(args, file)...)
			p := probeOf(t, "lab:"+name+"/vol-1")
			if p.Status != record.Complete || p.Storage.Filesystem != c.filesystem || len(p.Storage.Devices) == 0 ||
				len(p.Ramps) != 1 || len(p.Steps) != 2 {
				t.Errorf("the probe: %s %s, %+v, %d steps", p.Status, p.Problem, p.Storage, len(p.Steps))
			}
			if !strings.Contains(p.Volume, name) {
				t.Errorf("the record does not say which volume it was: %q", p.Volume)
			}
			last := p.Durability[len(p.Durability)-1]
			if wants := c.name != "btrfs"; (last.Grade == "C") != wants || wants && last.Verdict != record.Honest {
				t.Errorf("the last grade: %+v", last)
			}
			if c.name == "ext4" {
				testVolumeFaults(t, name)
			}
			if c.name == "xfs" {
				testNoDatabase(t, name)
			}
		})
	}
}

// testVolumeFaults injects faults into the disks and the host of a volume without a server, and reverts them.
func testVolumeFaults(t *testing.T, name string) {
	t.Helper()
	plimsoll(t, "lab", "fail", name, "disk-lie", "vol-1").must(t, 0)
	if p := probeOf(t, "lab:"+name); p.Verdict != record.Lying {
		t.Errorf("a disk that lies is called %s: %+v", p.Verdict, p.Durability)
	}
	plimsoll(t, "lab", "revert", name, "--all").must(t, 0)
	dir := status(t, name).Volumes[0].Mount
	kept := filepath.Join(dir, "kept")
	writeDurably(t, kept, "kept")
	plimsoll(t, "lab", "fail", name, "power-loss", "host1").must(t, 0)
	if e := plimsoll(t, "disk", "lab:"+name, "--no-record"); e.code == 0 {
		t.Errorf("a volume without power was probed:\n%s", e.stdout)
	}
	plimsoll(t, "lab", "revert", name, "host1").must(t, 0)
	if b, err := os.ReadFile(kept); err != nil || string(b) != "kept" {
		t.Errorf("after the power came back: %q, %v", b, err)
	}
	plimsoll(t, "lab", "repair", name, "vol-1").must(t, 0)
	if v := status(t, name).Volumes[0]; v.Health != "healthy" {
		t.Errorf("the volume is %+v", v)
	}
}

// writeDurably writes a file and makes it and its name durable.
func writeDurably(t *testing.T, name, text string) {
	t.Helper()
	for _, open := range []func() (*os.File, error){
		func() (*os.File, error) { return os.Create(name) },
		func() (*os.File, error) { return os.Open(filepath.Dir(name)) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() == name {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// testNoDatabase uses commands that need a database; each is refused with the reason.
func testNoDatabase(t *testing.T, name string) {
	t.Helper()
	for _, args := range [][]string{
		{"lab", "connect", name}, {"run", "lab:" + name, "--duration", "1s"}, {"drill", "lab:" + name, "--fault", "kill:primary"},
		{"lab", "fail", name, "kill", "vol-1"}, {"lab", "fail", name, "pause", "vol-1"}, {"lab", "logs", name, "vol-1"},
		{"lab", "fail", name, "kill", "primary"}, {"disk", "lab:" + name + "/vol-2"}, {"disk", "lab:" + name + "/vol-1/x"},
	} {
		if e := plimsoll(t, args...); e.code == 0 || !strings.Contains(e.stderr, "no database") && !strings.Contains(e.stderr, "without") &&
			!strings.Contains(e.stderr, "vol-") {
			t.Errorf("%q ended with %d and said\n%s", args, e.code, e.stderr)
		}
	}
	var l []record.Lab
	e := plimsoll(t, "lab", "list", "--format", "json").must(t, 0)
	if err := json.Unmarshal([]byte(e.stdout), &l); err != nil {
		t.Fatal(err)
	}
	if text := plimsoll(t, "lab", "list").must(t, 0).stdout; !strings.Contains(text, "1 volume without a database") {
		t.Errorf("lab list says\n%s", text)
	}
	if text := plimsoll(t, "lab", "status", name).must(t, 0).stdout; !strings.Contains(text, "there is no database") || strings.Contains(text, "address  lag") {
		t.Errorf("lab status says\n%s", text)
	}
}
