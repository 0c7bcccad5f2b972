package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/disk/pattern"
	"github.com/plimsoll-bench/plimsoll/internal/arrival"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// mostStampCost is the goal for the ratio of reading an answer with the time of its arrival to reading it alone,
// between the request and the end of the read.
const mostStampCost = 1.1

// smallCosts measures two steps on the way of an operation, each beside its peer, in alternating rounds.
func smallCosts(ctx context.Context, w io.Writer, c config) error {
	fill, err := compareCosts(ctx, c.rounds, fillRandom, fillPattern())
	if err != nil {
		return err
	}
	plain, stop, err := tcpExchange(false)
	if err != nil {
		return err
	}
	defer stop()
	stamped, stop, err := tcpExchange(true)
	if err != nil {
		return err
	}
	defer stop()
	read, err := compareCosts(ctx, c.rounds, plain, stamped)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nSmall costs (median of %d rounds, ratio within the rounds)\n", c.rounds)
	const row = "%-38s %-44s %6s  %s\n"
	fmt.Fprintf(w, row, "step", "peer", "ratio", "")
	fmt.Fprintf(w, row, fmt.Sprintf("data of a block of 4 KiB, %.0f ns", fill[1]),
		fmt.Sprintf("pseudo-random words, as fio refills, %.0f ns", fill[0]), fmt.Sprintf("%.2f", fill[2]), verdict(fill[2] <= 1))
	fmt.Fprintf(w, row, fmt.Sprintf("exchange over TCP with arrival, %.0f ns", read[1]),
		fmt.Sprintf("the same without, %.0f ns", read[0]), fmt.Sprintf("%.2f", read[2]), verdict(read[2] <= mostStampCost))
	return nil
}

// compareCosts returns the median nanoseconds of the peer and of the step, and of the ratio of step to peer.
func compareCosts(ctx context.Context, rounds int, peer, step func() error) (medians [3]float64, err error) {
	var all [3][]float64
	for i := range rounds {
		var took [2]float64
		for j := range 2 {
			which := (i + j) % 2
			if took[which], err = nanoseconds([2]func() error{peer, step}[which]); err != nil {
				return medians, err
			}
		}
		for k, v := range []float64{took[0], took[1], took[1] / took[0]} {
			all[k] = append(all[k], v)
		}
		if ctx.Err() != nil {
			return medians, ctx.Err()
		}
	}
	for k := range all {
		medians[k] = measure.Median(all[k])
	}
	return medians, nil
}

// nanoseconds is the mean time of a step in 0.2 s.
func nanoseconds(step func() error) (float64, error) {
	n, start := 0, time.Now()
	for time.Since(start) < 200*time.Millisecond {
		for range 100 {
			if err := step(); err != nil {
				return 0, err
			}
			n++
		}
	}
	return float64(time.Since(start)) / float64(n), nil
}

func fillPattern() func() error {
	pool, block, n := pattern.NewPool(1, 4096), make([]byte, 4096), uint64(0)
	return func() error {
		n++
		pool.Fill(block, int64(n%1000)*4096, n)
		return nil
	}
}

var randomBlock = struct {
	source rand.PCG
	block  [4096]byte
}{source: *rand.NewPCG(1, 2)}

func fillRandom() error {
	for i := 0; i < len(randomBlock.block); i += 8 {
		binary.LittleEndian.PutUint64(randomBlock.block[i:], randomBlock.source.Uint64())
	}
	return nil
}

// tcpExchange sends 200 bytes over a connection of loopback and reads 1 KiB, with the stamp of the kernel or without.
// Both ends belong to this thread, so nothing waits.
func tcpExchange(stamped bool) (step func() error, stop func(), err error) {
	near, far, stop, err := loopback()
	if err != nil {
		return nil, nil, err
	}
	request, answer := make([]byte, 200), make([]byte, 1<<10)
	var receiver arrival.Receiver
	if stamped {
		if err := arrival.Stamp(near); err != nil {
			stop()
			return nil, nil, err
		}
	}
	read := func() (int, error) { return unix.Read(near, answer) }
	if stamped {
		read = func() (int, error) {
			n, at, errno := receiver.Receive(near, answer)
			if errno != 0 {
				return 0, errno
			}
			if at > 0 {
				_ = time.Until(time.Unix(0, at))
			}
			return n, nil
		}
	}
	return func() error {
		if _, err := unix.Write(near, request); err != nil {
			return err
		}
		if _, err := unix.Read(far, answer); err != nil {
			return err
		}
		if _, err := unix.Write(far, answer); err != nil {
			return err
		}
		if n, err := read(); err != nil || n != len(answer) {
			return errors.Join(fmt.Errorf("%d bytes arrived", n), err)
		}
		return nil
	}, stop, nil
}

// loopback returns the descriptors of both ends of a TCP connection.
func loopback() (near, far int, stop func(), err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, 0, nil, err
	}
	defer l.Close()
	var closers []func()
	stop = func() {
		for _, end := range closers {
			end()
		}
	}
	keep := func(c net.Conn) (fd int, err error) {
		closers = append(closers, func() { c.Close() })
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			return 0, err
		}
		closers = append(closers, func() { f.Close() })
		return int(f.Fd()), nil
	}
	a, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return 0, 0, nil, err
	}
	b, err := l.Accept()
	if err != nil {
		a.Close()
		return 0, 0, nil, err
	}
	near, err = keep(a)
	if err == nil {
		far, err = keep(b)
	}
	if err != nil {
		stop()
	}
	return near, far, stop, err
}
