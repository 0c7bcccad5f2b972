package serve

import (
	"path/filepath"
	"sync"
)

// library is a folder that may not be there yet: with --web the server starts before the record does.
type library struct {
	dir string

	mu     sync.Mutex
	folder *Folder
	closed bool
}

func openLibrary(dir string, later bool) (*library, error) {
	l := &library{dir: dir}
	f, err := OpenFolder(dir)
	if err != nil && !later {
		return nil, err
	}
	if err == nil {
		l.folder = f
	}
	return l, nil
}

// open returns the folder, nil before it exists.
func (l *library) open() *Folder {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.folder == nil && !l.closed {
		if f, err := OpenFolder(l.dir); err == nil {
			l.folder = f
		}
	}
	return l.folder
}

func (l *library) list() []Entry {
	if f := l.open(); f != nil {
		return f.List()
	}
	return nil
}

// dirOf is the directory of an entry of [library.list].
func (l *library) dirOf(e Entry) string { return filepath.Join(l.dir, filepath.FromSlash(e.Path)) }

func (l *library) find(id string) (Entry, string, bool) {
	f := l.open()
	if f == nil {
		return Entry{}, "", false
	}
	e, ok := f.Find(id)
	return e, f.Dir(e), ok && f.Inside(e)
}

func (l *library) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.folder == nil {
		return nil
	}
	err := l.folder.Close()
	l.folder = nil
	return err
}
