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

// elsewhere are the places in which lost writes may still be: the log that members of documentdb gave up in this round,
// and the rollback files of mongod.
func (r *round) elsewhere(ctx context.Context) []ledger.Source {
	if r.lab == nil {
		return nil
	}
	var list []ledger.Source
	events, _ := r.lab.EventsSince(ctx, r.seq) // what is missing is not looked for
	for _, e := range events {
		if dir := e.Data["kept"]; dir != "" {
			list = append(list, &oldTimeline{member: e.Data["member"], dir: dir})
		}
	}
	l, err := r.lab.Describe(ctx, false)
	if err != nil {
		return list
	}
	for _, v := range l.Volumes {
		for _, m := range r.before.Members {
			if m.Name == v.Member && m.Kind == "mongod" {
				list = append(list, rollbacks(m.Name, v.Mount)...)
			}
		}
	}
	return list
}

// oldTimeline is write-ahead log that a member of documentdb gave up: segments in a directory.
type oldTimeline struct{ member, dir string }

// Name implements [ledger.Source].
func (o *oldTimeline) Name() string {
	return fmt.Sprintf("the old timeline of %s (kept in %s)", o.member, o.dir)
}

// Scan implements [ledger.Source]: there are no documents.
func (o *oldTimeline) Scan(context.Context, string, func([]byte) error) error {
	return errors.New("a log has no collections")
}

// The format of PostgreSQL's write-ahead log: pages, each with a header; that of a segment's first page is longer.
const (
	walPage       = 8 << 10
	walHeader     = 24
	walLongHeader = 40
	walLongFlag   = 2 // XLP_LONG_HEADER, in the second half-word of a page
)

// Stretches implements [ledger.Traces]. The headers of pages, which lie anywhere in a record, are left out, and the
// segments follow each other. A segment is 16 MiB, and there are as many as a member wrote alone, so all of them are
// one stretch, up to a bound; beyond it a stretch begins anew.
func (o *oldTimeline) Stretches(ctx context.Context, each func([]byte) error) error {
	names, err := filepath.Glob(filepath.Join(o.dir, strings.Repeat("[0-9A-F]", 24)))
	if err != nil || len(names) == 0 {
		return errors.Join(fmt.Errorf("there are no segments in %s", o.dir), err)
	}
	slices.Sort(names)
	var rest []byte // the end of the segment before, in which something may begin
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

// withoutHeaders appends what the pages of a segment carry.
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

// rollbackFiles are the documents that a mongod removed when it rolled back: BSON, one after another, in files named
// removed.TIME.bson below a directory per collection, whose name is the collection's UUID since 4.4 and
// DATABASE.COLLECTION before.
type rollbackFiles struct {
	member, dir string
	files       []string
}

// rollbacks finds the rollback files below the directory of a member.
func rollbacks(member, volume string) []ledger.Source {
	var files []string
	_ = filepath.WalkDir(volume, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not looked into
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

// Scan implements [ledger.Source]. Whatever the collection, all documents are given: what is not of the ledger is left
// out there.
func (r *rollbackFiles) Scan(ctx context.Context, _ string, each func([]byte) error) error {
	for _, file := range r.files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for len(data) >= 5 {
			n := int64(binary.LittleEndian.Uint32(data))
			if n < 5 || n > int64(len(data)) || server.Valid(data[:n]) != nil {
				return fmt.Errorf("%s ends with %d bytes that are no BSON", file, len(data))
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
