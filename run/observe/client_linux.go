package observe

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
)

// client is the processes that generate the load, or the service between them and the target.
type client struct {
	source string
	proc   procfs.FS
	pids   func() []int
	rates  rates
}

// NewClient returns this process as the source "client", together with the current processes of pids, which may be nil.
func NewClient(pids func() []int) (Source, error) {
	return newProcesses("client", func() []int {
		list := []int{os.Getpid()}
		if pids != nil {
			list = append(list, pids()...)
		}
		return list
	})
}

// NewService returns the process of a REST service between load and target as the source "service".
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

// ProcessUse returns the CPU time of a process and its resident bytes. ok is false if there is no such process.
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

func (c *client) Close() error { return nil }

func (c *client) Look(context.Context) (Reading, error) {
	values := map[string]float64{}
	c.rates.begin(time.Now())
	for _, pid := range c.pids() {
		c.process(values, pid)
	}
	c.rates.end()
	return Reading{Source: c.source, Values: values}, nil
}

// process adds a process that has not ended.
func (c *client) process(values map[string]float64, pid int) {
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
	if used, ok := c.rates.rate("cpu."+strconv.Itoa(pid), stat.CPUTime()); ok {
		values["cpu.used"] += used
	}
}
