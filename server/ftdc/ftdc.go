// Package ftdc reads the diagnostic data that a mongod or mongos writes once a second into its directory
// diagnostic.data (full-time diagnostic data capture). Files may be damaged, cut off or forged.
//
// A file is a sequence of BSON documents. Those of type 1 are chunks: a reference document and, for each number in it,
// the differences of the later samples, as varints without runs of zeros, compressed by zlib (mongo/src/mongo/db/ftdc).
// Each sample is returned as a document like the answer to getDiagnosticData; what it means is in package server.
package ftdc

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/varint"
	"github.com/plimsoll-bench/plimsoll/server"
)

// Limits of what a file may have. Chunks of servers have 300 samples of 1,500 to 6,000 numbers.
const (
	maxDocument = 16 << 20 // bytes of a document of the file
	maxExpanded = 32 << 20 // bytes of a chunk without its compression
	maxCells    = 8 << 20  // numbers of a chunk
	maxFiles    = 2_000    // of a directory
	maxTotal    = 4 << 30  // bytes of a directory; servers keep 200 or 400 MB
)

// The types of documents of a file.
const typeChunk = 1

// Damage is a part that could not be read.
type Damage struct {
	File string
	Why  string
}

// Each receives one sample: a document with the member "data", like the answer to getDiagnosticData. It is valid only
// until each returns.
type Each func(reply bson.Raw) error

// ReadDir reads the files of a directory in the order of their names, which is that of time. It returns the parts that
// could not be read; an error of each, or of the directory, ends it.
func ReadDir(ctx context.Context, dir string, each Each) (damages []Damage, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, err := filesOf(root)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no files metrics.*: give the directory diagnostic.data below the dbPath of a server", dir)
	}
	left := int64(maxTotal)
	for _, name := range names {
		f, err := safeopen.OpenIn(root, name)
		if err != nil {
			damages = append(damages, Damage{name, err.Error()})
			continue
		}
		info, err := f.Stat()
		if err == nil {
			left -= info.Size()
		}
		switch {
		case err != nil:
		case left < 0:
			err = errors.New("the directory has more than 4 GiB, so this file and later ones were not read")
		default:
			err = Read(ctx, f, each)
		}
		f.Close()
		var failed *eachError
		switch {
		case errors.As(err, &failed):
			return damages, failed.err
		case ctx.Err() != nil:
			return damages, ctx.Err()
		case err != nil:
			damages = append(damages, Damage{name, err.Error()})
		}
		if left < 0 {
			break
		}
	}
	return damages, nil
}

// filesOf are the names of the files in order of time. The interim file, whose samples come last, sorts last.
func filesOf(root *os.Root) (names []string, err error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("the directory has more than %d files", maxFiles)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, "metrics.") && name != "metrics.interim.temp" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// eachError is an error of [Each].
type eachError struct{ err error }

func (e *eachError) Error() string { return e.err.Error() }
func (e *eachError) Unwrap() error { return e.err }

// Read reads one file to its end. A damaged chunk is left out; the error says how many were and why the first one was.
// After a damaged frame the rest of the file cannot be read.
func Read(ctx context.Context, in io.Reader, each Each) error {
	r := bufio.NewReaderSize(in, 1<<16)
	var first error
	bad := 0
	for ctx.Err() == nil {
		doc, err := next(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(summed(first, bad), err)
		}
		data, ok := chunkOf(doc)
		if !ok {
			continue
		}
		err = readChunk(ctx, data, each)
		var failed *eachError
		if errors.As(err, &failed) {
			return err
		}
		if err != nil {
			first, bad = cmp.Or(first, err), bad+1
		}
	}
	return errors.Join(summed(first, bad), ctx.Err())
}

func summed(first error, n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("chunks that are damaged: %d, the first one: %w", n, first)
}

// next reads a document of a file.
func next(r *bufio.Reader) (bson.Raw, error) {
	head, err := r.Peek(4)
	if errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, io.EOF
	}
	if err != nil {
		return nil, errors.New("it ends within a document")
	}
	size := binary.LittleEndian.Uint32(head)
	if size < 5 || size > maxDocument {
		return nil, fmt.Errorf("a document of %d bytes is none of a server, so the rest of the file was not read", size)
	}
	var b bytes.Buffer // grows with what there is, whatever the size says
	if n, err := io.CopyN(&b, r, int64(size)); err != nil || n < int64(size) {
		return nil, errors.New("it ends within a document")
	}
	return b.Bytes(), nil
}

// chunkOf returns the data of a chunk; false for other documents.
func chunkOf(doc bson.Raw) ([]byte, bool) {
	if server.Valid(doc) != nil {
		return nil, false
	}
	if kind, ok := doc.Lookup("type").AsInt64OK(); !ok || kind != typeChunk {
		return nil, false
	}
	_, data, ok := doc.Lookup("data").BinaryOK()
	return data, ok
}

// expand removes the compression of a chunk.
func expand(data []byte) ([]byte, error) {
	if len(data) < 4 {
		return nil, errors.New("a chunk without a size")
	}
	size := binary.LittleEndian.Uint32(data)
	if size > maxExpanded {
		return nil, fmt.Errorf("a chunk of %d bytes", size)
	}
	z, err := zlib.NewReader(bytes.NewReader(data[4:]))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var b bytes.Buffer
	if n, err := io.CopyN(&b, z, int64(size)); err != nil || n != int64(size) {
		return nil, errors.New("a chunk that is shorter than it says")
	}
	return b.Bytes(), nil
}

// readChunk returns the samples of a chunk: the reference document, and one for each difference.
func readChunk(ctx context.Context, data []byte, each Each) error {
	b, err := expand(data)
	if err != nil {
		return err
	}
	if len(b) < 4 {
		return errors.New("a chunk without a document")
	}
	size := binary.LittleEndian.Uint32(b)
	if uint64(size) > uint64(len(b)) || size < 5 || len(b)-int(size) < 8 {
		return errors.New("a chunk whose document is cut off")
	}
	document := bson.Raw(b[:size])
	if err := server.Valid(document); err != nil {
		return fmt.Errorf("a chunk whose document is damaged: %w", err)
	}
	reply, err := bson.Marshal(bson.D{{Key: "data", Value: document}})
	if err != nil {
		return err
	}
	var numbers []number
	if err := collect(reply, 0, &numbers); err != nil {
		return err
	}
	columns, samples := binary.LittleEndian.Uint32(b[size:]), binary.LittleEndian.Uint32(b[size+4:])
	if int(columns) != len(numbers) {
		return fmt.Errorf("a chunk says %d numbers, and its document has %d", columns, len(numbers))
	}
	if uint64(columns)*uint64(samples) > maxCells {
		return fmt.Errorf("a chunk of %d samples of %d numbers", samples, columns)
	}
	deltas, err := decode(b[size+8:], int(columns)*int(samples))
	if err != nil {
		return err
	}
	for i := range int(samples) + 1 {
		if i > 0 {
			for k := range numbers {
				numbers[k].add(reply, deltas[k*int(samples)+i-1])
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(reply); err != nil {
			return &eachError{err}
		}
	}
	return nil
}

// decode reads n differences. A zero is followed by the number of further zeros.
func decode(b []byte, n int) ([]int64, error) {
	r := varint.Reader{B: b}
	out := make([]int64, 0, min(n, len(b)*64))
	for len(out) < n && !r.Bad {
		x := r.Get(math.MaxUint64)
		if x != 0 || r.Bad {
			out = append(out, int64(x))
			continue
		}
		more := r.Get(uint64(n - len(out) - 1))
		out = append(out, make([]int64, more+1)...)
	}
	if r.Bad || len(out) != n {
		return nil, errors.New("a chunk whose differences are damaged")
	}
	return out, nil
}

// number is the place of a number in a document.
type number struct {
	at   int
	kind bson.Type
	real float64 // the value of a double, which is stored as a whole number
}

// collect finds the numbers of a document in their order, also in documents and arrays within it. base is its place,
// and a timestamp has two numbers: its seconds, and what counts within them.
func collect(doc bson.Raw, base int, into *[]number) error {
	elements, err := doc.Elements()
	if err != nil {
		return err
	}
	at := base + 4
	for _, e := range elements {
		v := e.Value()
		value := at + len(e) - len(v.Value)
		switch v.Type {
		case bson.TypeDouble:
			*into = append(*into, number{at: value, kind: v.Type, real: v.Double()})
		case bson.TypeInt32, bson.TypeInt64, bson.TypeBoolean, bson.TypeDateTime:
			*into = append(*into, number{at: value, kind: v.Type})
		case bson.TypeTimestamp:
			*into = append(*into, number{at: value + 4, kind: v.Type}, number{at: value, kind: v.Type})
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			if err := collect(bson.Raw(v.Value), value, into); err != nil {
				return err
			}
		}
		at += len(e)
	}
	return nil
}

// add adds a difference to the number in a document.
func (n *number) add(doc bson.Raw, delta int64) {
	if delta == 0 {
		return
	}
	b := doc[n.at:]
	switch n.kind {
	case bson.TypeDouble:
		n.real = float64(whole(n.real) + delta)
		binary.LittleEndian.PutUint64(b, math.Float64bits(n.real))
	case bson.TypeInt32, bson.TypeTimestamp:
		binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)+uint32(delta))
	case bson.TypeInt64, bson.TypeDateTime:
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+uint64(delta))
	case bson.TypeBoolean:
		b[0] = byte(int64(b[0])+delta) & 1
	}
}

// whole is a double as the server stores it: as a whole number.
func whole(x float64) int64 {
	switch {
	case math.IsNaN(x):
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}
