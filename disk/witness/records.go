package witness

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/record"
)

// RecordBytes is the length of a record: one sector, which a device writes atomically.
const RecordBytes = 512

// maxRecords limits the file to 512 MiB.
const maxRecords = 1 << 20

// fileName returns the file of a session in the tested directory. Only a verification removes it.
func fileName(dir, session string) string {
	return filepath.Join(dir, "plimsoll-witness-"+session+".records")
}

// looseName returns the file with the same records, written without a sync. After a power cut a part of them is gone;
// if all exist, the power was not cut.
func looseName(dir, session string) string {
	return filepath.Join(dir, "plimsoll-witness-"+session+".loose")
}

// Remove removes the files of a session.
func Remove(dir, session string) error {
	err := os.Remove(looseName(dir, session))
	if errors.Is(err, fs.ErrNotExist) { // the power cut removed it
		err = nil
	}
	return errors.Join(err, os.Remove(fileName(dir, session)))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode writes record n of a session: a mark, the number, the checksum of the session's name and its own checksum.
func encode(b []byte, session string, n int64) {
	copy(b, "PLIMWITN")
	binary.LittleEndian.PutUint64(b[8:], uint64(n))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum([]byte(session), castagnoli))
	for i := 20; i < RecordBytes-4; i++ {
		b[i] = byte(uint64(n)*2654435761>>(i%24)) ^ byte(i)
	}
	binary.LittleEndian.PutUint32(b[RecordBytes-4:], crc32.Checksum(b[:RecordBytes-4], castagnoli))
}

// Write writes records and reports each durable one to the witness, until ctx ends or the power is cut. It calls
// progress periodically.
func Write(ctx context.Context, c *Client, dir, session string, progress func(n int64)) (n int64, err error) {
	if c.Highest > 0 {
		return 0, fmt.Errorf("the witness already has %s records of session %s: verify it, or use another --session",
			figure.Count(c.Highest), session)
	}
	f, err := os.OpenFile(fileName(dir, session), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return 0, fmt.Errorf("%s already exists: verify that session, or use another --session", fileName(dir, session))
		}
		return 0, err
	}
	defer f.Close()
	loose, err := os.OpenFile(looseName(dir, session), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return 0, err
	}
	defer loose.Close()
	// The name of the file must be durable too, or its loss would look like a loss of records.
	if err := replace.SyncDir(dir); err != nil {
		return 0, err
	}
	b := make([]byte, RecordBytes)
	for n = 1; ctx.Err() == nil && n <= maxRecords; n++ {
		encode(b, session, n)
		if _, err := f.WriteAt(b, (n-1)*RecordBytes); err != nil {
			return n - 1, err
		}
		if err := dataSync(f); err != nil {
			return n - 1, fmt.Errorf("cannot sync record %d: %w", n, err)
		}
		if err := c.Acknowledged(n); err != nil {
			return n, err
		}
		if _, err := loose.WriteAt(b, (n-1)*RecordBytes); err != nil {
			return n, err
		}
		if progress != nil && n%100 == 0 {
			progress(n)
		}
	}
	return n - 1, nil
}

// Verify compares the numbers of the witness with the records on the storage. If no record without a sync is gone, it
// proves nothing.
func Verify(c *Client, dir, session string) (*record.ProbeDurability, error) {
	known, err := c.Known()
	if err != nil {
		return nil, err
	}
	if known == 0 {
		return nil, fmt.Errorf("the witness has no record of session %s: write some first (plimsoll disk DIR --witness HOST:PORT --session %[1]s)", session)
	}
	d := &record.ProbeDurability{Grade: "D", Acknowledged: known,
		Covers: "everything from the system call to the medium, if the power of all of it was cut", Blind: "caches that kept their power, such as those of the host of a virtual machine that was reset",
	}
	missing, first, err := Missing(fileName(dir, session), session, known)
	if err != nil {
		return nil, err
	}
	if d.Missing = missing; missing > 0 {
		d.Verdict = record.Lying
		d.Text = fmt.Sprintf("%s of %s records reported to the witness as durable are missing or damaged, the first is number %s",
			figure.Count(missing), figure.Count(known), figure.Count(first))
		return d, nil
	}
	if d.Loose, _, err = Missing(looseName(dir, session), session, known); err != nil {
		return nil, err
	}
	d.Verdict = record.Honest
	d.Text = fmt.Sprintf("all %s records reported to the witness as durable exist, and %s without a sync are lost",
		figure.Count(known), figure.Count(d.Loose))
	if d.Loose == 0 {
		d.Verdict = record.NotProvable
		d.Text = fmt.Sprintf("all %s records reported to the witness as durable exist, but also all records without a sync. "+
			"So the power was not cut while the records were written, or the filesystem writes everything on each sync: "+
			"cut the power while plimsoll disk --witness runs", figure.Count(known))
	}
	return d, nil
}

// Missing returns the number of missing or damaged records from 1 to known, and the first of them. A missing file has
// no records.
func Missing(name, session string, known int64) (missing, first int64, err error) {
	f, err := os.Open(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, err
	}
	if err == nil {
		defer f.Close()
	}
	b, want := make([]byte, RecordBytes), make([]byte, RecordBytes)
	for n := int64(1); n <= known; n++ {
		ok := false
		if f != nil {
			_, err := f.ReadAt(b, (n-1)*RecordBytes)
			if err != nil && !errors.Is(err, io.EOF) {
				return missing, first, fmt.Errorf("cannot read record %d: %w", n, err)
			}
			encode(want, session, n)
			ok = err == nil && bytes.Equal(b, want)
		}
		if !ok {
			if missing++; first == 0 {
				first = n
			}
		}
	}
	return missing, first, nil
}
