package recorded

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// Header is the begin of a recording.
type Header struct {
	Version  int           `json:"plimsoll_recording"` // 1
	From     string        `json:"from"`
	Database string        `json:"database"`
	Began    time.Time     `json:"began"`
	Length   time.Duration `json:"length_ns"`
	// Operations is the number of recorded operations; Commands of them are kept as they were, with their values.
	Operations int64 `json:"operations"`
	Commands   int64 `json:"commands"`
	// Left is the number of operations that cannot be sent again, because their command was cut or their shape is not in
	// the workload.
	Left int64 `json:"left"`
	// Late is the number of operations that the source listed more than a window too late, so their time is not theirs.
	Late int64 `json:"late"`
	// Shapes has, for each shape, the number of its operation in the workload, -1 for none.
	Shapes []int `json:"shapes"`
	// Workload is the workload file. Operations without kept values are made by it.
	Workload string `json:"workload"`
}

// window is how many operations are sorted by their begin. Sources list operations when they end.
const window = 1 << 16

// maxWindow limits the bytes of the commands in the window.
const maxWindow = 256 << 20

// arrival is one operation of a recording.
type arrival struct {
	at      time.Time
	shape   int
	command bson.Raw // nil without values
	n       int64    // as the source lists them
}

type arrivals []arrival

func (a arrivals) Len() int { return len(a) }
func (a arrivals) Less(i, j int) bool {
	if a[i].at.Equal(a[j].at) {
		return a[i].n < a[j].n
	}
	return a[i].at.Before(a[j].at)
}
func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)   { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// countingWriter counts bytes.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// The limits of a recording, for its writer and its reader.
const (
	// MaxRecording is the size of the largest file, in bytes.
	MaxRecording = maxRecording + 2*maxHeader
	maxRecording = 16 << 30          // of the operations
	maxHeader    = 64 << 20          // of the header, which has the workload file
	maxCommand   = 48 << 20          // of a command, which is that of MongoDB
	maxLength    = math.MaxInt64 / 4 // nanoseconds from the first operation to the last
)

// Recorder writes a recording while a model is made.
type Recorder struct {
	m        *Model
	database string // "": that of the first operation
	shapes   map[string]int
	texts    []string
	waiting  arrivals
	bytes    int
	out      *zstd.Encoder
	written  *countingWriter
	last     time.Time
	header   Header
	n        int64
	buf      []byte
}

// NewRecorder writes the operations of a database to w, which is a temporary file: [Recorder.Finish] puts them behind a
// header.
func NewRecorder(m *Model, database string, w io.Writer) (*Recorder, error) {
	written := &countingWriter{w: w}
	out, err := zstd.NewWriter(written)
	if err != nil {
		return nil, err
	}
	return &Recorder{m: m, database: database, shapes: map[string]int{}, out: out, written: written}, nil
}

// Add adds an operation that was just added to the model.
func (r *Recorder) Add(op *Operation) error {
	if r.database == "" {
		r.database = op.Database
	}
	if op.Database != r.database {
		return nil
	}
	if op.Cut || op.Command == nil || r.written.n > maxRecording {
		r.header.Left++
		return nil
	}
	tree, _, _ := shapeOf(op, r.m.Names, r.m.Typed)
	key := shapeKey(op.Database, textOf(tree))
	shape, known := r.shapes[key]
	if !known {
		if len(r.shapes) >= mostShapes {
			r.header.Left++
			return nil
		}
		shape = len(r.texts)
		r.shapes[key] = shape
		r.texts = append(r.texts, key)
	}
	a := arrival{at: op.Time, shape: shape, n: r.n}
	if r.m.Options.Values && r.m.Names == nil && !op.NoDocs && !op.Redacted && len(op.Command) <= maxCommand {
		a.command = op.Command
	}
	r.n++
	r.bytes += len(a.command)
	heap.Push(&r.waiting, a)
	for len(r.waiting) > window || r.bytes > maxWindow {
		if err := r.write(); err != nil {
			return err
		}
	}
	return nil
}

// write writes the earliest operation.
func (r *Recorder) write() error {
	a := heap.Pop(&r.waiting).(arrival)
	r.bytes -= len(a.command)
	if r.header.Operations == 0 {
		r.header.Began, r.last = a.at, a.at
	}
	distance := a.at.Sub(r.last)
	switch {
	case distance < 0 || a.at.Sub(r.header.Began) > maxLength: // the clock was set, or the entry is forged
		r.header.Late++
		distance = 0
	default:
		r.last = a.at
	}
	r.header.Operations++
	r.buf = binary.AppendUvarint(r.buf[:0], uint64(distance))
	kept := uint64(0)
	if a.command != nil {
		kept = 1
		r.header.Commands++
	}
	r.buf = binary.AppendUvarint(r.buf, uint64(a.shape)<<1|kept)
	r.buf = append(r.buf, a.command...)
	_, err := r.out.Write(r.buf)
	return err
}

// Finish ends the temporary file, and writes the header with the workload file to w. The recording is the header with
// the content of the temporary file behind it. operations is as from [Model.File].
func (r *Recorder) Finish(w io.Writer, f own.File, operations map[string]int) (Header, error) {
	for len(r.waiting) > 0 {
		if err := r.write(); err != nil {
			return r.header, err
		}
	}
	if err := r.out.Close(); err != nil {
		return r.header, err
	}
	h := &r.header
	h.Version, h.Database, h.Length = 1, r.database, r.last.Sub(h.Began)
	if f.Recorded != nil {
		h.From = f.Recorded.From
	}
	for _, text := range r.texts {
		number, ok := operations[text]
		if !ok || f.Operations[number].Watch != "" {
			number = -1
		}
		h.Shapes = append(h.Shapes, number)
	}
	var text bytes.Buffer
	if err := own.Encode(&text, f); err != nil {
		return *h, err
	}
	h.Workload = text.String()
	r.out.Reset(w)
	return *h, errors.Join(json.NewEncoder(r.out).Encode(h), r.out.Close())
}

// reader reads the operations of a recording one after the other.
type reader struct {
	in      *bufio.Reader
	decoder *zstd.Decoder
	header  Header
	at      time.Duration
	number  int64
}

// openReader reads the header.
func openReader(r io.Reader) (*reader, error) {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, err
	}
	in := &reader{in: bufio.NewReaderSize(decoder, 64<<10), decoder: decoder}
	line, err := readLine(in.in, maxHeader)
	if err == nil {
		err = json.Unmarshal(line, &in.header)
	}
	if err != nil || in.header.Version == 0 {
		decoder.Close()
		return nil, errors.New("this is not a recording of plimsoll workload record")
	}
	if in.header.Version != 1 {
		decoder.Close()
		return nil, fmt.Errorf("this recording has version %d, which a later plimsoll wrote", in.header.Version)
	}
	return in, nil
}

func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) > most {
			return nil, errors.New("the header is too long")
		}
	}
}

func (r *reader) close() { r.decoder.Close() }

// entry is one operation of a recording.
type entry struct {
	at        time.Duration // since the begin
	operation int           // of the workload, -1 for none
	command   bson.Raw      // nil: the workload makes it
}

// next returns the next operation that can be sent. A recording that is cut off ends there.
func (r *reader) next(commands bool) (entry, bool) {
	for {
		distance, err := binary.ReadUvarint(r.in)
		if err != nil || distance > maxLength || r.at > maxLength {
			return entry{}, false
		}
		r.at += time.Duration(distance)
		word, err := binary.ReadUvarint(r.in)
		if err != nil {
			return entry{}, false
		}
		e := entry{at: r.at, operation: -1}
		if n := word >> 1; n < uint64(len(r.header.Shapes)) {
			e.operation = r.header.Shapes[n]
		}
		if word&1 == 1 {
			if e.command, err = readDocument(r.in, commands && e.operation >= 0); err != nil {
				return entry{}, false
			}
		}
		if e.operation >= 0 {
			r.number++
			return e, true
		}
	}
}

// readDocument reads or skips a document.
func readDocument(r *bufio.Reader, keep bool) (bson.Raw, error) {
	size, err := r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size)
	if n < 5 || n > maxCommand {
		return nil, Damaged
	}
	if !keep {
		_, err := r.Discard(int(n))
		return nil, err
	}
	var b bytes.Buffer // grows with what is there, whatever the length says
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		return nil, err
	}
	doc := bson.Raw(b.Bytes())
	return doc, doc.Validate()
}
