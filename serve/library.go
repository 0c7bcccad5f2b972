package serve

import (
	"path/filepath"
	"sync"
)

// library is a folder that may not be there yet: with --web the server starts before the record does. Records elsewhere
// are folders of their own beside it.
type library struct {
	dir       string
	elsewhere func() []string // directories of records outside of dir, nil for none

	mu     sync.Mutex
	folder *Folder
	others map[string]*Folder // by directory
	closed bool
}

func openLibrary(dir string, later bool, elsewhere func() []string) (*library, error) {
	l := &library{dir: dir, elsewhere: elsewhere, others: map[string]*Folder{}}
	f, err := OpenFolder(dir)
	if err != nil && !later {
		return nil, err
	}
	if err == nil {
		l.folder = f
	}
	return l, nil
}

// folders returns the folder, if it exists, and those of the records elsewhere that still exist.
func (l *library) folders() (list []*Folder) {
	var others []string
	if l.elsewhere != nil {
		others = l.elsewhere()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	if l.folder == nil {
		if f, err := OpenFolder(l.dir); err == nil {
			l.folder = f
		}
	}
	if l.folder != nil {
		list = append(list, l.folder)
	}
	for _, dir := range others {
		f := l.others[dir]
		if f != nil && !f.stands() {
			_ = f.Close()
			f = nil
			delete(l.others, dir)
		}
		if f == nil {
			var err error
			if f, err = OpenFolder(dir); err != nil {
				continue // it was removed
			}
			f.prefix = dir
			l.others[dir] = f
		}
		list = append(list, f)
	}
	return list
}

// list returns the records of all folders, the newest first.
func (l *library) list() (list []Entry) {
	for _, f := range l.folders() {
		list = append(list, f.List()...)
	}
	sortEntries(list)
	return list
}

// folderOf is the folder of an entry of [library.list], nil if it is gone.
func (l *library) folderOf(e Entry) *Folder {
	for _, f := range l.folders() {
		if f.prefix == e.root {
			return f
		}
	}
	return nil
}

// dirOf is the directory of an entry of [library.list].
func (l *library) dirOf(e Entry) string {
	at := l.dir
	if e.root != "" {
		at = e.root
	}
	return filepath.Join(at, filepath.FromSlash(e.Path))
}

func (l *library) find(id string) (Entry, string, bool) {
	for _, f := range l.folders() {
		if e, ok := f.Find(id); ok {
			return e, f.Dir(e), f.Inside(e)
		}
	}
	return Entry{}, "", false
}

func (l *library) close() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.folder != nil {
		err = l.folder.Close()
		l.folder = nil
	}
	for _, f := range l.others {
		_ = f.Close() // a directory that was only read
	}
	l.others = nil
	return err
}
