package observe

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
)

// client is the processes that make the load.
type client struct {
	proc  procfs.FS
	pids  func() []int
	rates rates
}

// NewClient returns this process as a source called "client", together with the processes that pids names at
// the time, if it is not nil.
func NewClient(pids func() []int) (Source, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("what this process uses cannot be seen: %w", err)
	}
	return &client{proc: proc, pids: pids}, nil
}

// Close implements [Source].
func (c *client) Close() error { return nil }

// Look implements [Source].
func (c *client) Look(context.Context) (Reading, error) {
	now, values := time.Now(), map[string]float64{}
	pids := []int{os.Getpid()}
	if c.pids != nil {
		pids = append(pids, c.pids()...)
	}
	c.rates.begin()
	for _, pid := range pids {
		c.process(values, pid, now)
	}
	c.rates.end(now)
	return Reading{Source: "client", Values: values}, nil
}

// process adds one process; one that has just ended is left out.
func (c *client) process(values map[string]float64, pid int, now time.Time) {
	p, err := c.proc.Proc(pid)
	if err != nil {
		return
	}
	stat, err := p.Stat()
	if err != nil {
		return
	}
	values["memory.resident"] += float64(stat.ResidentMemory())
	values["threads"] += float64(stat.NumThreads)
	used, ok := c.rates.add("cpu."+strconv.Itoa(pid), stat.CPUTime())
	if seconds := c.rates.seconds(now); ok && seconds > 0 {
		values["cpu.used"] += used / seconds
	}
}
