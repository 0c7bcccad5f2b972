package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
)

// beatEvery is the period of a client's signs of life.
const beatEvery = time.Second

// endAtMost is the time limit of a client after its parent has ended.
const endAtMost = 5 * time.Second

// Serve is a client. It reads its order from in, runs its part of the load after the start command, and writes its
// results to out. It returns then, or soon after in has ended, so a client never outlives its parent. Nothing else may
// write to out. duties are its duties besides the load; nil for none.
func Serve(ctx context.Context, in io.Reader, out io.Writer, duties Duties) error {
	commands := json.NewDecoder(bufio.NewReader(in))
	var first command
	if err := commands.Decode(&first); err != nil || first.Order == nil {
		return errors.New("a client reads its order from standard input. Start clients with: plimsoll run --clients N")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &server{order: *first.Order, duties: duties, out: newLines(out), start: make(chan int64, 1),
		abort: make(chan struct{}), orphan: make(chan struct{}), stop: cancel}
	go c.listen(commands)
	ended := make(chan struct{})
	go func() { defer close(ended); c.run(ctx) }()
	go c.beat(ended)
	select {
	case <-ended:
	case <-c.orphan:
		select {
		case <-ended:
		case <-time.After(endAtMost):
		}
		return errors.New("the process that started this client has ended")
	}
	c.out.close()
	select {
	case <-c.out.done:
	case <-c.orphan:
	}
	return nil
}

type server struct {
	order  order
	duties Duties
	out    *lines
	start  chan int64
	once   sync.Once
	abort  chan struct{}
	orphan chan struct{} // closed when the parent has ended
	stop   func()
}

// listen follows the parent's commands until they end.
func (c *server) listen(commands *json.Decoder) {
	for {
		var what command
		if err := commands.Decode(&what); err != nil {
			c.end()
			close(c.orphan)
			return
		}
		switch {
		case what.Start != 0:
			select {
			case c.start <- what.Start:
			default: // only the first start counts
			}
		case what.Abort:
			c.end()
		case what.Stop:
			c.stop()
		}
	}
}

// end ends the run at once.
func (c *server) end() {
	c.once.Do(func() { close(c.abort) })
	c.stop()
}

// beat sends a sign of life, independently of operations.
func (c *server) beat(ended <-chan struct{}) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = c.out.send(message{}) // fails if the parent has ended, which listen notices
		case <-ended:
			return
		}
	}
}

func (c *server) run(ctx context.Context) {
	r, err := c.execute(ctx)
	done := &result{Run: r}
	if err != nil {
		done.Error = err.Error()
		done.Stopped = errors.Is(err, context.Canceled)
		done.Full = errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
		var e *run.Error
		if errors.As(err, &e) {
			done.Stage = e.Stage
		}
	}
	_ = c.out.send(message{Done: done})
}

func (c *server) execute(ctx context.Context) (*record.Run, error) {
	o := c.order
	opts := run.Options{
		Tool: o.Tool, Dir: o.Dir, Command: o.Command, Progress: c, Abort: c.abort, Address: o.Address,
		Client: o.Client, Clients: o.Clients, Streams: o.Streams, Number: o.Number, Ready: c.ready,
	}
	after, err := c.duties.begin(o.Duty, o.Brief, &opts)
	if err != nil {
		return nil, wrong(err)
	}
	r, err := run.Execute(ctx, o.Spec, opts)
	if r == nil {
		return nil, err
	}
	if failed := after(); failed != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = &run.Error{Stage: run.Recording, Err: failed}
	}
	return r, err
}

// ready reports that everything is open, and waits for the start.
func (c *server) ready(ctx context.Context) error {
	if err := c.out.send(message{Ready: true}); err != nil {
		return fmt.Errorf("cannot report to the process that started this client: %w", err)
	}
	select {
	case at := <-c.start:
		if err := sleepUntil(ctx, time.Unix(0, at)); err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return c.out.send(message{Began: time.Now().UnixNano()})
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Step and Begin implement [run.Progress]. The parent shows its own progress.
func (c *server) Step(string)    {}
func (c *server) Begin(run.Plan) {}

// Interval implements [run.Progress].
func (c *server) Interval(d measure.Dims, iv *measure.Interval) {
	w, err := record.Pack(d, iv)
	if err == nil {
		err = c.out.send(message{Interval: w})
	}
	if err != nil {
		c.end() // no results without a parent
	}
}

// Event implements [run.Progress].
func (c *server) Event(e measure.Event) { _ = c.out.send(message{Event: &e}) }
