package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

const (
	// flightFrames and flightBytes limit what a wire has published and the server has not yet stored.
	flightFrames = 256
	flightBytes  = 1 << 20
	// waitingBytes limits the received frames in memory: of all links of a run together, or of an agent. What follows
	// stays on the disk of the server.
	waitingBytes = 16 << 20
	// pulledBytes limits what the connection has received besides.
	pulledBytes = 8 << 20
	// partBytes is the largest message. Frames that are longer go in parts. A NATS server takes 1 MiB by default.
	partBytes = 512 << 10
	// mostBytes is the longest frame.
	mostBytes = 32 << 20
	// refusedAtMost is how long the server may refuse to store frames.
	refusedAtMost = 20 * time.Second
)

// waiting counts the received frames in memory.
type waiting struct {
	mu    sync.Mutex
	less  sync.Cond
	bytes int
}

func newWaiting() *waiting {
	w := &waiting{}
	w.less.L = &w.mu
	return w
}

// full waits as long as there are too many.
func (w *waiting) full() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.bytes >= waitingBytes {
		w.less.Wait()
	}
}

func (w *waiting) add(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += bytes
	w.less.Broadcast()
}

// wire is one side of the connection to the other side of a run, over the stream of the run.
type wire struct {
	nc      *client.Conn
	js      jetstream.JetStream
	subject string // of the frames it sends
	out, in sealer

	refused time.Time // since when the server stores nothing; only transmit uses it

	mu     sync.Mutex
	queue  []outgoing
	sent   uint64 // number of the last frame that was queued
	closed bool
	broken chan struct{} // closed when why is set
	wake   chan struct{} // has a value when the queue has changed
	done   chan struct{} // Closed

	received sync.Cond
	frames   [][]byte
	waiting  *waiting
	next     uint64 // number of the next frame
	early    map[uint64]incoming
	// earlyBytes are the bytes of early frames, and foreign counts the messages that the other side did not send.
	earlyBytes int
	foreign    int
	parts      []byte // of a frame that is not complete
	why        error  // how receiving ends, after the frames
}

type outgoing struct {
	number uint64
	kind   kind
	frame  []byte
}

type incoming struct {
	kind  kind
	frame []byte
}

func newWire(nc *client.Conn, js jetstream.JetStream, subject string, out, in sealer, all *waiting) *wire {
	w := &wire{nc: nc, js: js, subject: subject, out: out, in: in, next: 1, early: map[uint64]incoming{},
		waiting: all, broken: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{})}
	w.received.L = &w.mu
	return w
}

func (w *wire) Send(frame []byte) { w.enqueue(ordinary, frame) }

func (w *wire) Close() { w.enqueue(last, nil) }

func (w *wire) Closed() <-chan struct{} { return w.done }

func (w *wire) enqueue(k kind, frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = k == last
	for ; len(frame) > partBytes; frame = frame[partBytes:] {
		w.sent++
		w.queue = append(w.queue, outgoing{w.sent, begun, frame[:partBytes]})
	}
	w.sent++
	w.queue = append(w.queue, outgoing{w.sent, k, frame})
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// continueAfter continues after the last frame that an earlier process sent. That is no part of a longer one, because a
// coordinator sends long frames only before the load starts.
func (w *wire) continueAfter(sealed []byte) error {
	number, k, _, err := w.out.open(sealed)
	w.sent, w.closed = number, k == last
	return err
}

func (w *wire) Receive() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.frames) == 0 && w.why == nil {
		w.received.Wait()
	}
	if len(w.frames) == 0 {
		return nil, w.why
	}
	frame := w.frames[0]
	w.frames[0] = nil
	w.frames = w.frames[1:]
	if !w.isBroken() {
		w.waiting.add(-len(frame))
	}
	return frame, nil
}

// endLocked ends the receiving. The first reason counts. The caller has the lock.
func (w *wire) endLocked(why error) {
	if w.why == nil {
		w.why = why
		w.received.Broadcast()
	}
}

// fail breaks the wire: nothing is sent any more, and nothing received but the frames that are here. They no longer
// count, because nobody may receive them.
func (w *wire) fail(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLocked(why)
	w.closed, w.queue = true, nil
	select {
	case <-w.broken:
	default:
		close(w.broken)
		for _, f := range w.frames {
			w.waiting.add(-len(f))
		}
	}
}

// ended reports whether the other side has ended the wire, or the wire is broken.
func (w *wire) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why != nil
}

// flush waits until a closed wire has sent everything.
func (w *wire) flush(limit <-chan time.Time) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		select {
		case <-w.done:
		case <-limit:
		}
	}
}

func (w *wire) isBroken() bool {
	select {
	case <-w.broken:
		return true
	default:
		return false
	}
}

// deliver takes a message of the stream, when there is room.
func (w *wire) deliver(sealed []byte) {
	w.waiting.full()
	number, k, frame, err := w.in.open(sealed)
	w.mu.Lock()
	if err != nil {
		w.foreign++ // anybody who can write into the server can send it; a message that was changed is missing below
		w.mu.Unlock()
		return
	}
	if w.why != nil || number < w.next || w.early[number].frame != nil {
		w.mu.Unlock()
		return
	}
	w.earlyBytes += len(frame)
	w.early[number] = incoming{k, frame}
	for {
		f, ok := w.early[w.next]
		if !ok {
			break
		}
		delete(w.early, w.next)
		w.earlyBytes -= len(f.frame)
		w.next++
		switch {
		case len(w.parts)+len(f.frame) > mostBytes:
			w.parts = nil
			w.endLocked(fmt.Errorf("a message is longer than %d MiB", mostBytes>>20))
		case f.kind == begun:
			w.parts = append(w.parts, f.frame...)
		case f.kind == ordinary:
			if len(w.parts) > 0 {
				f.frame, w.parts = append(w.parts, f.frame...), nil
			}
			w.frames = append(w.frames, f.frame)
			w.waiting.add(len(f.frame))
		case len(f.frame) > 0:
			w.endLocked(errors.New(visible.Bounded(string(f.frame), 1000)))
		default:
			w.endLocked(io.EOF)
		}
	}
	w.received.Broadcast()
	missing, foreign, early := w.next, w.foreign, w.earlyBytes
	w.mu.Unlock()
	// The sender publishes no frame before the one that is flightFrames older is stored.
	if number >= missing+flightFrames || early > flightBytes+2*partBytes {
		w.fail(fmt.Errorf("the message %d is missing in the NATS server, and %d messages there were changed or are from another sender",
			missing, foreign))
	}
}

// flying is a frame that the server may not have stored yet.
type flying struct {
	message *client.Msg
	ack     jetstream.PubAckFuture
}

// transmit sends what is queued until the wire is closed or broken.
func (w *wire) transmit() {
	defer close(w.done)
	var flight []flying
	bytes := 0
	for {
		for len(flight) < flightFrames && bytes < flightBytes {
			f, ok := w.dequeue()
			if !ok {
				break
			}
			if f.kind == last && len(flight) > 0 {
				// A receiver of the last frame has all others.
				w.requeue(f)
				break
			}
			flight = append(flight, flying{message: w.message(f)})
			bytes += len(flight[len(flight)-1].message.Data)
			if err := w.publish(&flight[len(flight)-1]); err != nil && !w.again(flight, err) {
				return
			}
		}
		if len(flight) == 0 {
			if w.finished() {
				return
			}
			select {
			case <-w.wake:
			case <-w.broken:
				return
			}
			continue
		}
		wake := w.wake
		if len(flight) >= flightFrames || bytes >= flightBytes {
			wake = nil
		}
		select {
		case <-flight[0].ack.Ok():
			bytes -= len(flight[0].message.Data)
			flight, w.refused = flight[1:], time.Time{}
		case err := <-flight[0].ack.Err():
			if !w.again(flight, err) {
				return
			}
		case <-wake:
		case <-w.broken:
			return
		}
	}
}

func (w *wire) dequeue() (outgoing, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return outgoing{}, false
	}
	f := w.queue[0]
	w.queue[0] = outgoing{}
	w.queue = w.queue[1:]
	return f, true
}

func (w *wire) requeue(f outgoing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append([]outgoing{f}, w.queue...)
}

func (w *wire) finished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed && len(w.queue) == 0
}

func (w *wire) message(f outgoing) *client.Msg {
	m := client.NewMsg(w.subject)
	m.Data = w.out.seal(f.number, f.kind, f.frame)
	// The server drops repetitions by their name. It is that of this encryption, so nobody can use it before.
	m.Header.Set(jetstream.MsgIDHeader, idOf(m.Data))
	return m
}

func (w *wire) publish(f *flying) (err error) {
	f.ack, err = w.js.PublishMsgAsync(f.message)
	return err
}

// again publishes all frames in flight again, in order, when the server takes them. It returns false if the wire is
// broken.
func (w *wire) again(flight []flying, err error) bool {
	for err != nil {
		if errors.Is(err, client.ErrMaxPayload) {
			w.fail(errors.New("the NATS server does not accept messages of 1 MiB. Set its max_payload to 1MB or more"))
			return false
		}
		if refused := new(jetstream.APIError); errors.As(err, &refused) {
			if w.refused.IsZero() {
				w.refused = time.Now()
			}
			if time.Since(w.refused) > refusedAtMost {
				w.fail(fmt.Errorf("the NATS server does not store messages of the run (%s). Check the free space of its disk and its "+
					"limits", refused.Description))
				return false
			}
		}
		select {
		case <-time.After(retryEvery):
		case <-w.broken:
			return false
		}
		if !w.nc.IsConnected() {
			continue
		}
		err = nil
		for i := range flight {
			if err == nil {
				err = w.publish(&flight[i])
			}
		}
	}
	return true
}

func exists(js jetstream.JetStream, stream string) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerAtMost)
	defer cancel()
	_, err := js.Stream(ctx, stream)
	return err
}

func errGone(stream string) error {
	return fmt.Errorf("the stream %s was removed from the NATS server during the run, so messages are lost. Run it again", stream)
}
