package drill

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
)

// discarded returns the places where lost writes may still be: the log that members of documentdb gave up in this
// round, and the rollback files of mongod.
func (a *auditor) discarded(ctx context.Context) []ledger.Source {
	if a.target.lab == nil {
		return nil
	}
	var list []ledger.Source
	var events []record.LabEvent
	_ = a.drill.wait(ctx, "events of the lab "+a.target.lab.Name(), func(ctx context.Context) (err error) {
		events, err = a.target.lab.EventsSince(ctx, a.target.seq)
		return err // without events, their logs are not searched
	})
	for _, e := range events {
		if dir := e.Data["kept"]; dir != "" {
			list = append(list, &oldTimeline{member: e.Data["member"], dir: dir, patience: a.drill.patience()})
		}
	}
	var l record.Lab
	if err := a.drill.wait(ctx, "volumes of the lab "+a.target.lab.Name(), func(ctx context.Context) (err error) {
		l, err = a.target.lab.Describe(ctx, false)
		return err
	}); err != nil {
		return list
	}
	for _, v := range l.Volumes {
		for _, m := range a.target.before.Members {
			if m.Name == v.Member && m.Kind == "mongod" {
				list = append(list, a.rollbacks(ctx, m.Name, v.Mount)...)
			}
		}
	}
	return list
}

// rollbacks finds the rollback files of a member on its volume, whose disks may hang.
func (a *auditor) rollbacks(ctx context.Context, member, mount string) (list []ledger.Source) {
	_ = a.drill.wait(ctx, "search for rollback files of "+member, func(ctx context.Context) (err error) {
		list, err = wait.Detached(ctx, func() ([]ledger.Source, error) { return rollbacks(member, mount), nil })
		return err
	})
	for _, s := range list {
		s.(*rollbackFiles).patience = a.drill.patience()
	}
	return list
}

// oldTimeline is the write-ahead log that a member of documentdb gave up: segments in a directory.
type oldTimeline struct {
	member, dir string
	patience    time.Duration // for a file; 0 is the default
}

func (o *oldTimeline) Name() string {
	return fmt.Sprintf("the old timeline of %s (kept in %s)", o.member, o.dir)
}

// A log has no documents.
func (o *oldTimeline) Scan(context.Context, string, func([]byte) error) error {
	return errors.New("a write-ahead log has no collections")
}

// The format of PostgreSQL's write-ahead log: pages, each with a header; that of a segment's first page is longer.
const (
	walPage       = 8 << 10
	walHeader     = 24
	walLongHeader = 40
	walLongFlag   = 2 // XLP_LONG_HEADER, in the second half-word of a page
)

// Stretches leaves out the headers of pages, which may be in the middle of a record, and joins each segment (16 MiB)
// with the end of the one before.
func (o *oldTimeline) Stretches(ctx context.Context, each func([]byte) error) error {
	names, err := filepath.Glob(filepath.Join(o.dir, strings.Repeat("[0-9A-F]", 24)))
	if err != nil || len(names) == 0 {
		return errors.Join(fmt.Errorf("no segments of the write-ahead log in %s", o.dir), err)
	}
	slices.Sort(names)
	var rest []byte // the end of the segment before, where a document may begin
	for _, name := range names {
		data, err := readFile(ctx, o.patience, o.member, name)
		if err != nil {
			return err
		}
		stretch := withoutHeaders(rest, data)
		if err := errors.Join(each(stretch), ctx.Err()); err != nil {
			return err
		}
		rest = slices.Clone(stretch[max(0, len(stretch)-walPage):])
	}
	return nil
}

// withoutHeaders appends the contents of the pages of a segment.
func withoutHeaders(dst, segment []byte) []byte {
	dst = slices.Grow(dst, len(segment))
	for len(segment) >= walHeader {
		page := segment[:min(walPage, len(segment))]
		segment = segment[len(page):]
		header := walHeader
		if binary.LittleEndian.Uint16(page[2:])&walLongFlag != 0 {
			header = min(walLongHeader, len(page))
		}
		dst = append(dst, page[header:]...)
	}
	return dst
}

// rollbackFiles are the documents that a mongod removed in a rollback: concatenated BSON in files named
// removed.TIME.bson. Each collection has a directory, named by the collection's UUID since 4.4 and by
// DATABASE.COLLECTION before.
type rollbackFiles struct {
	member, dir string
	files       []string
	patience    time.Duration // for a file; 0 is the default
}

// rollbacks finds the rollback files on the volume of a member.
func rollbacks(member, volume string) []ledger.Source {
	var files []string
	_ = filepath.WalkDir(volume, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // skip what cannot be read
		}
		name := d.Name()
		below := slices.Contains(strings.Split(filepath.ToSlash(filepath.Dir(path)), "/"), "rollback")
		if !d.IsDir() && below && strings.HasPrefix(name, "removed.") && strings.HasSuffix(name, ".bson") {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		return nil
	}
	return []ledger.Source{&rollbackFiles{member: member, dir: filepath.Dir(filepath.Dir(files[0])), files: files}}
}

func (r *rollbackFiles) Name() string {
	return fmt.Sprintf("the rollback of %s (kept in %s)", r.member, r.dir)
}

// Scan passes the documents of all collections; the ledger ignores those that are not its own.
func (r *rollbackFiles) Scan(ctx context.Context, _ string, each func([]byte) error) error {
	for _, file := range r.files {
		data, err := readFile(ctx, r.patience, r.member, file)
		if err != nil {
			return err
		}
		for len(data) >= 5 {
			n := int64(binary.LittleEndian.Uint32(data))
			if n < 5 || n > int64(len(data)) || server.Valid(data[:n]) != nil {
				return fmt.Errorf("the last %d bytes of %s are not BSON", len(data), file)
			}
			if err := errors.Join(each(data[:n]), ctx.Err()); err != nil {
				return err
			}
			data = data[n:]
		}
	}
	return nil
}

// maxTrace bounds a file of a member: a segment of a journal, or the file of a rollback.
const maxTrace = 1 << 30

// readFile reads a file of a member, whose disk may hang.
func readFile(ctx context.Context, patience time.Duration, member, file string) (data []byte, err error) {
	reading := wait.Wait{Name: "read of " + file + " of " + member, Limit: cmp.Or(patience, defaultPatience)}
	err = reading.Do(ctx, func(ctx context.Context) (err error) {
		data, err = wait.Detached(ctx, func() ([]byte, error) { return safeopen.ReadPath(file, maxTrace) })
		return err
	})
	return data, err
}

var (
	_ ledger.Traces = (*oldTimeline)(nil)
	_ ledger.Source = (*rollbackFiles)(nil)
)
