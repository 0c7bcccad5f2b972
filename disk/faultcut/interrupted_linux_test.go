package faultcut

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/internal/gobuild"
	"github.com/plimsoll-bench/plimsoll/record"
)

// interrupting is a cutter that interrupts the probe at a moment of the power cut.
type interrupting struct {
	*Cutter
	when      string
	interrupt func()
}

func (c *interrupting) at(moment string) {
	if c.when == moment {
		c.interrupt()
	}
}

func (c *interrupting) Cut(ctx context.Context, dir string) (int64, error) {
	c.at("before the cut")
	n, err := c.Cutter.Cut(ctx, dir)
	c.at("while it is cut")
	return n, err
}

// told keeps what the probe says.
type told struct {
	silent
	notes []string
}

func (t *told) Note(text string) { t.notes = append(t.notes, text) }

// An interrupt in the middle of a power cut leaves no disk without power: the filesystem comes back, what was
// acknowledged is looked at, and the probe ends with what it has.
func TestInterruptedWhileThePowerIsCut(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	for _, when := range []string{"before the cut", "while it is cut"} {
		t.Run(when, func(t *testing.T) {
			o, client := serve(t)
			v := disktest.Make(t, "ext4", 400, "", filepath.Join(o.Mount, "d0"))
			cutter, err := Dial(t.Context(), o.Socket)
			if err != nil {
				t.Fatal(err)
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			said := &told{}
			p, err := probe(t, ctx, v.Dir, disk.Options{Progress: said, Cutter: &interrupting{cutter, when, interrupt}})
			if err != nil {
				t.Fatal(err)
			}
			// The kernel may have flushed everything before the cut, which is not repeated after an interrupt.
			want := record.Honest
			c := p.Durability[len(p.Durability)-1]
			if c.Discarded == 0 && c.Loose == 0 {
				want = record.NotProvable
			}
			if c.Grade != "C" || c.Verdict != want || c.Missing > 0 || len(p.Steps) == 0 {
				t.Errorf("%+v, %d steps", c, len(p.Steps))
			}
			if !slices.Contains(said.notes, "interrupted during the power cut; the power is restored and the filesystem is mounted again") {
				t.Errorf("it says %q", said.notes)
			}
			s, err := client.Stats(t.Context(), "d0")
			if err != nil || len(s.Faults) > 0 {
				t.Errorf("the disk: %+v, %v", s, err)
			}
			if err := os.WriteFile(filepath.Join(v.Dir, "file"), []byte("text"), 0o600); err != nil {
				t.Errorf("the filesystem is not back: %v", err)
			}
		})
	}
}

// A probe that was killed while the power was cut leaves a disk without power, and the next one says how to bring it
// back.
func TestKilledWhileThePowerIsCut(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	o, _ := serve(t)
	v := disktest.Make(t, "ext4", 400, "", filepath.Join(o.Mount, "d0"))
	killed, err := Dial(t.Context(), o.Socket)
	if err == nil {
		err = killed.Check(t.Context(), v.Dir)
	}
	if err == nil {
		_, err = killed.Cut(t.Context(), v.Dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	next, err := Dial(t.Context(), o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	failed := next.Check(t.Context(), v.Dir)
	if failed == nil || !strings.Contains(failed.Error(), "has no power") {
		t.Fatalf("it says %v", failed)
	}
	_, repair, _ := strings.Cut(failed.Error(), "bring it back: ")
	path := t.TempDir()
	if err := gobuild.Program(filepath.Join(path, "plimsoll"), "cmd/plimsoll"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-ec", repair)
	cmd.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", repair, err, out)
	}
	if err := next.Check(t.Context(), v.Dir); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(v.Dir, "file"), []byte("text"), 0o600); err != nil {
		t.Error(err)
	}
}

// An interrupt while the records are written, before anything is cut, cuts nothing.
func TestInterruptedBeforeThePowerIsCut(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	v := disktest.Make(t, "ext4", 400, "")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p, err := probe(t, ctx, v.Dir, disk.Options{Progress: &interruptingStep{interrupt: interrupt}, Cutter: refusing{}})
	if err != nil || p.Durability[len(p.Durability)-1].Grade == "C" {
		t.Errorf("%+v, %v", p.Durability, err)
	}
}

// interruptingStep interrupts when the records of the power cut are written.
type interruptingStep struct {
	silent
	interrupt func()
}

func (s *interruptingStep) Step(text string) {
	if text == "power cut after 300 acknowledged records" {
		s.interrupt()
	}
}

// refusing is a cutter that is not to be asked.
type refusing struct{ disk.PowerCutter }

func (refusing) Covers() string { return "" }
func (refusing) Blind() string  { return "" }
func (refusing) Cut(context.Context, string) (int64, error) {
	return 0, errors.New("the power was cut")
}
