package drill

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/server"
)

// elsewhere returns the places where lost writes may still be: the log that members of documentdb gave up in this
// round, and the rollback files of mongod.
func (a *auditor) elsewhere(ctx context.Context) []ledger.Source {
	if a.target.lab == nil {
		return nil
	}
	var list []ledger.Source
	events, _ := a.target.lab.EventsSince(ctx, a.target.seq) // without events, their logs are not searched
	for _, e := range events {
		if dir := e.Data["kept"]; dir != "" {
			list = append(list, &oldTimeline{member: e.Data["member"], dir: dir})
		}
	}
	l, err := a.target.lab.Describe(ctx, false)
	if err != nil {
		return list
	}
	for _, v := range l.Volumes {
		for _, m := range a.target.before.Members {
			if m.Name == v.Member && m.Kind == "mongod" {
				list = append(list, rollbacks(m.Name, v.Mount)...)
			}
		}
	}
	return list
}

// oldTimeline is the write-ahead log that a member of documentdb gave up: segments in a directory.
type oldTimeline struct{ member, dir string }

// Name implements [ledger.Source].
func (o *oldTimeline) Name() string {
	return fmt.Sprintf("the old timeline of %s (kept in %s)", o.member, o.dir)
}

// Scan implements [ledger.Source]. A log has no documents.
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

// Stretches implements [ledger.Traces]. It leaves out the headers of pages, which may be in the middle of a record, and
// joins each segment (16 MiB) with the end of the one before.
func (o *oldTimeline) Stretches(ctx context.Context, each func([]byte) error) error {
	names, err := filepath.Glob(filepath.Join(o.dir, strings.Repeat("[0-9A-F]", 24)))
	if err != nil || len(names) == 0 {
		return errors.Join(fmt.Errorf("no segments of the write-ahead log in %s", o.dir), err)
	}
	slices.Sort(names)
	var rest []byte // the end of the segment before, where a document may begin
	for _, name := range names {
		data, err := os.ReadFile(name)
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

// Name implements [ledger.Source].
func (r *rollbackFiles) Name() string {
	return fmt.Sprintf("the rollback of %s (kept in %s)", r.member, r.dir)
}

// Scan implements [ledger.Source]. It passes the documents of all collections; the ledger ignores those that are not
// its own.
func (r *rollbackFiles) Scan(ctx context.Context, _ string, each func([]byte) error) error {
	for _, file := range r.files {
		data, err := os.ReadFile(file)
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

var (
	_ ledger.Traces = (*oldTimeline)(nil)
	_ ledger.Source = (*rollbackFiles)(nil)
)
