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

// deviceClasses are measured. The fast classes show the time that the machine adds.
var deviceClasses = []string{"nvme", "sata-ssd", "hdd-10k"}

// deviceGoal is the most that a virtual disk may add to the latency of its class in the median. A write and a flush
// each need about 0.1 ms for the loop device and FUSE.
const deviceGoal = time.Millisecond

// deviceLatency compares the latency of writes and flushes on virtual disks with the latency of their class. It uses
// two disks at once, like a mirror, because requests of a lab also wait concurrently.
func deviceLatency(ctx context.Context, w io.Writer, c config) (err error) {
	if os.Getuid() != 0 {
		fmt.Fprintln(w, "\nLatency of virtual disks: not measured, it needs root")
		return nil
	}
	m := &pairOfDisks{}
	defer func() { err = errors.Join(err, m.remove()) }()
	if err := m.start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nLatency of a write of 4 KiB with a flush on a mirror of two virtual disks, compared with the latency "+
		"of their class (goal: the median exceeds it by less than %s)\n", deviceGoal)
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
		fmt.Fprintf(w, "  %-9s class %6.3f ms, median %6.3f ms (× %.2f, %s), 99th percentile %6.3f ms\n",
			name, ms(asked), ms(median), float64(median)/float64(asked), verdict(median-asked < deviceGoal), ms(most))
	}
	return nil
}

// pairOfDisks are two virtual disks of one faultfs.
type pairOfDisks struct {
	faultsProcess
	loops []string
}

// measure makes two disks of a class and returns the durations of writes with their flushes.
func (m *pairOfDisks) measure(ctx context.Context, d faultfs.Device, during time.Duration) (
	took []time.Duration, err error) {
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

// mirroredWrites writes blocks at distant offsets to all devices at once, each with a flush, and returns the duration
// of each round.
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

// remove also works after an interrupt: it removes what was made until then.
func (m *pairOfDisks) remove() error { return errors.Join(m.detach(), m.stop()) }
