package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

// deviceClasses are those whose latencies are measured: the fast ones show what the machine adds, the slow one waits for long.
var deviceClasses = []string{"nvme", "sata-ssd", "hdd-10k"}

// deviceGoal is how much longer than its class says a virtual disk may take in the median: a write and a flush go through a loop device
// and FUSE, which some 0.1 ms each are for.
const deviceGoal = time.Millisecond

// deviceLatency compares how long virtual disks take for writes and flushes with what their class says. Two of them are used at once,
// as by a mirror: requests that wait beside each other are what a lab has.
func deviceLatency(ctx context.Context, w io.Writer, c config) (err error) {
	if os.Getuid() != 0 {
		fmt.Fprintln(w, "\nLatency of virtual disks: not measured, it needs root")
		return nil
	}
	m := &pairOfDisks{}
	defer func() { err = errors.Join(err, m.remove()) }()
	if err := m.start(ctx, "device"); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nLatency of virtual disks, a mirror of two, a write of 4 KiB and a flush of both, by what the class says (goal: the median less than %s later)\n", deviceGoal)
	for _, name := range deviceClasses {
		class, err := faultfs.Class(name)
		if err != nil {
			return err
		}
		took, err := m.measure(ctx, class, time.Duration(c.seconds)*time.Second)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		asked := class.WriteLatency + class.FlushLatency
		slices.Sort(took)
		median, most := took[len(took)/2], took[len(took)*99/100]
		fmt.Fprintf(w, "  %-9s asked %6.3f ms, median %6.3f ms (× %.2f, %s), 99th percentile %6.3f ms\n",
			name, ms(asked), ms(median), float64(median)/float64(asked), verdict(median-asked < deviceGoal), ms(most))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// pairOfDisks are two virtual disks of one faultfs.
type pairOfDisks struct {
	faultsProcess
	loops []string
}

// measure makes two disks of a class and takes how long each write with its flush takes on them.
func (m *pairOfDisks) measure(ctx context.Context, d faultfs.Device, during time.Duration) (took []time.Duration, err error) {
	defer func() { err = errors.Join(err, m.detach()) }()
	for _, name := range []string{"a", "b"} {
		loop, err := m.attach(ctx, d.Class+"-"+name, 64<<20, d)
		if err != nil {
			return nil, err
		}
		m.loops = append(m.loops, loop)
	}
	return mirroredWrites(ctx, m.loops, during)
}

// mirroredWrites writes blocks far from each other to all devices, each with a flush, waits for all of them, and takes the time of each.
func mirroredWrites(ctx context.Context, devices []string, during time.Duration) (took []time.Duration, err error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, device := range devices {
		f, err := os.OpenFile(device, os.O_RDWR|syscall.O_DIRECT, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	const block = 4096
	room := make([]byte, 2*block)
	room = room[block-int(uintptr(unsafe.Pointer(&room[0]))%block):][:block] // direct writes are aligned
	errs := make([]error, len(files))
	begin := time.Now()
	for i := int64(0); time.Since(begin) < during && ctx.Err() == nil; i++ {
		at := time.Now()
		var all sync.WaitGroup
		for n, f := range files {
			all.Go(func() {
				_, err := f.WriteAt(room, i*7919%(16<<10)*block)
				errs[n] = errors.Join(err, f.Sync())
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		took = append(took, time.Since(at))
	}
	if len(took) == 0 {
		return nil, errors.New("nothing was written")
	}
	return took, ctx.Err()
}

func (m *pairOfDisks) detach() (failed error) {
	for _, loop := range m.loops {
		_, err := tool(context.Background(), "losetup", "--detach", loop)
		failed = errors.Join(failed, err)
	}
	m.loops = nil
	return failed
}

// remove takes away what was made, whatever that is, also after an interrupt.
func (m *pairOfDisks) remove() error { return errors.Join(m.detach(), m.stop()) }
