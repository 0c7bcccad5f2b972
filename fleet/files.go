package fleet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/record"
)

// chunkBytes is the largest chunk of a file in one frame. In base64 it is one message for a NATS server.
const chunkBytes = 256 << 10

// handOver sends the files of the record in dir to the coordinator.
func (c *server) handOver(dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == record.LockFile {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		f, err := safeopen.OpenFile(name)
		if err != nil {
			return err
		}
		defer f.Close()
		for first := true; ; first = false {
			data := make([]byte, chunkBytes)
			n, err := io.ReadFull(f, data)
			if n > 0 || first {
				next := fileChunk{Name: filepath.ToSlash(relative), First: first, Data: data[:n]}
				if err := c.sendBulk(message{Chunk: &next}, n); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// keepChunk writes a chunk of a file of a client's record below that of the run. The name comes from another machine:
// it stays below the client's directory. An error is one of the client; those of this machine end the run.
func (t *coordinator) keepChunk(m *member, p *fileChunk) error {
	file := filepath.FromSlash(p.Name)
	if !filepath.IsLocal(file) {
		return fmt.Errorf("it sent a file outside of its record: %q", visible.Bounded(p.Name, 200))
	}
	root, err := os.OpenRoot(t.opts.Dir)
	if err != nil {
		t.fail(err)
		return nil
	}
	defer root.Close()
	defer m.keep(len(p.Data))
	file = filepath.Join(filepath.FromSlash(recordOf(m.number)), file)
	if err := root.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return t.blame(err)
	}
	how := os.O_WRONLY | os.O_APPEND
	if p.First {
		how = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	}
	f, err := root.OpenFile(file, how, 0o644)
	if err != nil {
		return t.blame(err)
	}
	_, err = f.Write(p.Data)
	t.fail(errors.Join(err, f.Close()))
	return nil
}

// blame returns an error that the name of a file caused, for its client. Other errors end the run.
func (t *coordinator) blame(err error) error {
	for _, named := range []error{fs.ErrExist, fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.EISDIR,
		syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, named) {
			return fmt.Errorf("it sent a file that cannot be kept: %w", err)
		}
	}
	t.fail(err)
	return nil
}

// keep counts bytes of chunks or hand-overs that are written or passed on. It tells the agent before that has to wait.
func (m *member) keep(bytes int) {
	m.kept += int64(bytes)
	if m.kept-m.confirmed >= windowBytes/4 {
		m.confirmed = m.kept
		m.command(command{Kept: m.kept})
	}
}
