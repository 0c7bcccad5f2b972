package observe

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
)

// client is processes of this side: those that make the load, or the service that stands before the target.
type client struct {
	source string
	proc   procfs.FS
	pids   func() []int
	rates  rates
}

// NewClient returns this process as a source called "client", together with the processes that pids names at
// the time, if it is not nil.
func NewClient(pids func() []int) (Source, error) {
	return newProcesses("client", func() []int {
		list := []int{os.Getpid()}
		if pids != nil {
			list = append(list, pids()...)
		}
		return list
	})
}

// NewService returns the process of a REST service between load and target as a source called "service".
func NewService(pid int) (Source, error) {
	return newProcesses("service", func() []int { return []int{pid} })
}

func newProcesses(source string, pids func() []int) (Source, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("cannot read the use of processes: %w", err)
	}
	return &client{source: source, proc: proc, pids: pids}, nil
}

// ProcessUse is what a process used since it began, user and system time together, and the bytes that it has resident;
// ok is false where there is no such process.
func ProcessUse(pid int) (cpu time.Duration, resident int64, ok bool) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, false
	}
	stat, err := p.Stat()
	if err != nil {
		return 0, 0, false
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), int64(stat.ResidentMemory()), true
}

// Close implements [Source].
func (c *client) Close() error { return nil }

// Look implements [Source].
func (c *client) Look(context.Context) (Reading, error) {
	now, values := time.Now(), map[string]float64{}
	c.rates.begin()
	for _, pid := range c.pids() {
		c.process(values, pid, now)
	}
	c.rates.end(now)
	return Reading{Source: c.source, Values: values}, nil
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
