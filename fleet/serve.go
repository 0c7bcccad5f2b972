package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/scratch"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// beatEvery is the period of a client's signs of life.
const beatEvery = time.Second

// endAtMost is the time limit of an agent after its wire has ended.
const endAtMost = 5 * time.Second

// Agent is what performs the orders of a coordinator.
type Agent struct {
	// Local says that the agent is a process that the coordinator started on its machine. Agents elsewhere refuse orders
	// that name files, directories or addresses besides that of a MongoDB.
	Local bool
	// Duties are its duties besides the load; nil for none.
	Duties Duties
	// Dir is where it makes a directory for its record if it has none in common with the coordinator; "" for that of
	// temporary files.
	Dir string
	// Ceiling is the calibration of its machine; nil without.
	Ceiling *run.Ceiling
	// Service starts the REST service of runs with via: rest, beside the agent; nil without services.
	Service func(context.Context, run.ServiceBrief) (*run.Service, error)
	// Now is its clock; nil for [time.Now].
	Now func() time.Time
	// Run performs its part of the load; nil for [run.Execute].
	Run func(context.Context, spec.Run, run.Options) (*record.Run, error)
}

// Serve performs one part of a run. It reads its order from the wire, runs its part of the load after the start
// command, and sends its results. It returns then, or soon after the wire has ended, so an agent never outlives its
// run.
func (a Agent) Serve(ctx context.Context, wire Wire) error {
	first, err := receive(wire)
	if err != nil || first.Order == nil {
		return errors.New("a client reads its order from standard input. Start clients with: plimsoll run --clients N")
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	if a.Run == nil {
		a.Run = run.Execute
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &server{agent: a, order: *first.Order, orders: make(chan order, 1), wire: wire, start: make(chan int64, 1),
		began: make(chan struct{}), abort: make(chan struct{}), orphan: make(chan struct{}), stop: cancel,
		room: make(chan struct{}, 1)}
	go c.listen()
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
	wire.Close()
	select {
	case <-wire.Closed():
	case <-c.orphan:
	}
	return nil
}

func receive(wire Wire) (c command, err error) {
	frame, err := wire.Receive()
	if err == nil {
		err = json.Unmarshal(frame, &c)
	}
	return c, err
}

type server struct {
	agent  Agent
	order  order
	orders chan order // after the first one
	wire   Wire
	start  chan int64
	began  chan struct{} // closed at the start of the load
	once   sync.Once
	abort  chan struct{}
	orphan chan struct{} // closed when the wire has ended
	stop   context.CancelCauseFunc

	bulk int64         // bytes of chunks and hand-overs that were sent; one goroutine sends them
	kept atomic.Int64  // of them, those that the coordinator has kept
	room chan struct{} // has a value when kept has grown

	mu      sync.Mutex
	beganAt int64 // by its clock; 0 if it has not begun or a message has said it
	quiet   bool  // no message since the last beat
}

func (c *server) send(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.Began, c.beganAt, c.quiet = c.beganAt, 0, false
	frame, err := json.Marshal(m)
	if err != nil {
		panic(err) // messages are made of types that always can be written
	}
	c.wire.Send(frame)
}

// windowBytes is how much of files and hand-overs an agent sends ahead of what the coordinator has kept. A slow disk of
// the coordinator delays them, so that they do not fill the memory of either side.
const windowBytes = 4 << 20

// keptUntil notes how much the coordinator has kept.
func (c *server) keptUntil(bytes int64) {
	c.kept.Store(bytes)
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// sendBulk sends a message with a chunk or hand-over of some bytes. It waits until the coordinator has kept earlier
// ones.
func (c *server) sendBulk(m message, bytes int) error {
	c.bulk += int64(bytes)
	for c.bulk-c.kept.Load() > windowBytes {
		select {
		case <-c.room:
		case <-c.orphan:
			return errors.New("the wire to the coordinator has ended")
		}
	}
	c.send(m)
	return nil
}

// listen follows the coordinator's commands until they end.
func (c *server) listen() {
	for {
		what, err := receive(c.wire)
		if err != nil {
			c.end()
			close(c.orphan)
			return
		}
		switch {
		case what.Order != nil:
			c.orders <- *what.Order // each comes after the result of the last one
		case what.Start != 0:
			select {
			case c.start <- what.Start:
			default: // only the first start counts
			}
		case what.Ping != 0:
			c.send(message{Pong: &pong{Ping: what.Ping, At: c.agent.Now().UnixNano()}})
		case what.Kept != 0:
			c.keptUntil(what.Kept)
		case what.Abort:
			c.end()
		case what.Enough:
			c.stop(load.ErrEnough)
		case what.Stop:
			c.stop(nil)
		}
	}
}

// end ends the run at once.
func (c *server) end() {
	c.once.Do(func() { close(c.abort) })
	c.stop(nil)
}

// beat sends a sign of life, independently of operations, if nothing else was sent.
func (c *server) beat(ended <-chan struct{}) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if c.silent() {
				c.send(message{})
			}
		case <-ended:
			return
		}
	}
}

// silent reports whether no message was sent since the last call.
func (c *server) silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	quiet := c.quiet
	c.quiet = true
	return quiet
}

// run performs the orders to load records, and the order to run a load, which is the last one.
func (c *server) run(ctx context.Context) {
	for c.order.Fill != nil {
		report, err := c.fill(ctx)
		c.send(message{Filled: &filled{Report: report, failure: failureOf(err)}})
		select {
		case c.order = <-c.orders:
		case <-ctx.Done():
			return
		}
	}
	r, err := c.execute(ctx)
	c.send(message{Done: &result{Run: r, Ceiling: c.agent.Ceiling.Rate(c.order.Spec.Client), failure: failureOf(err)}})
}

// permit returns why the order is refused, nil if it is not.
func (c *server) permit() error {
	if c.agent.Local {
		return nil
	}
	return c.order.check()
}

func (c *server) fill(ctx context.Context) (report load.FillReport, err error) {
	if err := c.permit(); err != nil {
		return report, err
	}
	return run.Fill(ctx, c.order.Spec, c.options(), *c.order.Fill)
}

// options are the options of the order, without a record.
func (c *server) options() run.Options {
	o := c.order
	return run.Options{
		Tool: o.Tool, Command: o.Command, Progress: c, Abort: c.abort, Service: c.agent.Service, Number: o.Number,
		Share: &run.Share{Client: o.Client, Clients: o.Clients, Whole: o.Whole, Turns: o.Turns, Address: o.Address,
			Remote: o.Dir == "", Foreign: !c.agent.Local},
	}
}

func (c *server) execute(ctx context.Context) (*record.Run, error) {
	if err := c.permit(); err != nil {
		return nil, err
	}
	o := c.order
	dir := o.Dir
	if dir == "" {
		made, err := scratch.Make(c.agent.Dir, "plimsoll-agent-", nil)
		if err != nil {
			return nil, &run.Error{Stage: run.Recording, Err: err}
		}
		defer os.RemoveAll(made)
		dir = filepath.Join(made, "record")
	}
	opts := c.options()
	opts.Dir, opts.Ready, opts.Ceiling = dir, c.ready, c.agent.Ceiling
	handOver, err := c.agent.Duties.begin(o.Duty, o.Brief, &opts)
	if err != nil {
		return nil, wrong(err)
	}
	ended := make(chan struct{})
	handedOver := c.handOverDuring(ended, handOver)
	r, err := c.agent.Run(ctx, o.Spec, opts)
	close(ended)
	failed := <-handedOver
	if r == nil {
		return nil, err
	}
	if failed == nil {
		failed = c.sendHandOver(handOver, true)
	}
	if failed == nil && o.Dir == "" {
		failed = c.handOver(dir)
	}
	if failed != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = &run.Error{Stage: run.Recording, Err: failed}
	}
	return r, err
}

// ready reports that everything is open, and waits for the start.
func (c *server) ready(ctx context.Context) error {
	c.send(message{Ready: true})
	select {
	case at := <-c.start:
		if wait.Sleep(ctx, time.Unix(0, at).Sub(c.agent.Now())) != nil {
			return ctx.Err()
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	c.beganAt = c.agent.Now().UnixNano()
	c.mu.Unlock()
	close(c.began)
	return nil
}

// handOverDuring hands over what the duty has to hand over, from the start of the load until ended is closed. Then it
// sends an error or nil.
func (c *server) handOverDuring(ended <-chan struct{}, handOver HandOver) <-chan error {
	failed := make(chan error, 1)
	go func() {
		select {
		case <-c.began:
		case <-ended:
			failed <- nil
			return
		}
		ticker := time.NewTicker(handOverEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if err := c.sendHandOver(handOver, false); err != nil {
					failed <- err
					return
				}
			case <-ended:
				failed <- nil
				return
			}
		}
	}()
	return failed
}

// sendHandOver sends what the duty has to hand over, in frames of limited size.
func (c *server) sendHandOver(handOver HandOver, last bool) error {
	var b bytes.Buffer
	if err := handOver(&b, last); err != nil {
		return err
	}
	for b.Len() > 0 {
		data := b.Next(chunkBytes)
		if err := c.sendBulk(message{HandOver: &handOverChunk{Data: data, Last: b.Len() == 0}}, len(data)); err != nil {
			return err
		}
	}
	return nil
}

// Step and Begin implement [run.Progress]. The coordinator shows its own progress.
func (c *server) Step(string)    {}
func (c *server) Begin(run.Plan) {}

func (c *server) Interval(d measure.Dims, iv *measure.Interval) {
	c.send(message{Interval: record.Pack(d, iv)})
}

func (c *server) Event(e measure.Event) { c.send(message{Event: &e}) }
