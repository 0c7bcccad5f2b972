package recordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Repeat writes a record that repeats the intervals of the one in from, without encoding its histograms again. from has
// no warm-up, and its length is a multiple of a minute, so that its merged intervals can be repeated, too.
func Repeat(from, to string, times int) error {
	r, err := record.OpenRun(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	p := r.Phase("measure")
	length := p.End
	if length%int64(time.Minute) != 0 {
		return errors.New("the record to repeat does not end with a whole minute")
	}
	err = errors.Join(
		eachFile(from, "intervals*.ndjson.zst", func(path, name string) error {
			return repeatIntervals(path, filepath.Join(to, name), times, length)
		}),
		eachFile(from, "latency*.hlog", func(path, name string) error { return repeatLog(path, filepath.Join(to, name), times) }),
	)
	if err != nil {
		return err
	}
	p.End = length * int64(times)
	p.Seconds = time.Duration(p.End).Seconds()
	r.Course.WindowEnd = p.End
	if err := writeJSON(filepath.Join(to, record.RunFile), r); err != nil {
		return err
	}
	return record.Seal(to)
}

func eachFile(dir, pattern string, f func(path, name string) error) error {
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	for _, path := range paths {
		err = errors.Join(err, f(path, filepath.Base(path)))
	}
	return err
}

func repeatIntervals(from, to string, times int, length int64) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	unpacked, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	var list []record.IntervalLine
	for lines := json.NewDecoder(unpacked); ; {
		var l record.IntervalLine
		if err := lines.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		list = append(list, l)
	}
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(z)
	for range times {
		for i := range list {
			if err := lines.Encode(&list[i]); err != nil {
				return err
			}
			list[i].Start += length
			list[i].End += length
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, packed.Bytes(), 0o644)
}

func repeatLog(from, to string, times int) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	body := bytes.Index(b, []byte("Tag="))
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(b[:body]); err != nil {
		return err
	}
	for range times {
		if _, err := f.Write(b[body:]); err != nil {
			return err
		}
	}
	return f.Close()
}
