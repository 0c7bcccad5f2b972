package serve

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// Bounds of what is read of a folder. A folder with more shows the newest records that were found within them.
const (
	maxDepth   = 8
	maxEntries = 20_000
	// maxHead bounds how much is read of a record for the list; run.json is some kilobytes, study.json some megabytes.
	maxHead = 64 << 20
)

// Entry is one record in the list.
type Entry struct {
	// ID names the record in addresses. It is made of its path, so it stays the same, and no path ever comes from a
	// request.
	ID string
	// Path is relative to the folder, with slashes. Place is the same as pages show it: a path may have any character.
	Path  string
	Place string
	report.Entry
	Started time.Time
	Live    bool
	// Within is the ID of the suite, study or drill that the record is a part of, the outermost one; empty for the others.
	// The list of all records leaves parts out.
	Within string

	root string // of its folder, "" for that of the server
}

// Folder is a folder of records. It may be used by several goroutines.
type Folder struct {
	dir    string
	prefix string // of the IDs and places of its records, "" for the folder of the server
	root   *os.Root

	mu    sync.Mutex
	known map[string]seen // by path
}

// seen is what was read of a record, and the state of its file.
type seen struct {
	modified time.Time
	size     int64
	read     Entry             // what its file says
	entry    Entry             // with what other files say: whether it is being written, and its place in a study
	parts    map[string]string // names of the records below it, by their paths in it
}

// OpenFolder opens a folder, which must exist. Links that lead outside are not followed.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir, root: root, known: map[string]seen{}}, nil
}

// stands reports whether the directory is still the one that was opened.
func (f *Folder) stands() bool {
	now, err := os.Stat(f.dir)
	opened, openedErr := f.root.Stat(".")
	return err == nil && openedErr == nil && os.SameFile(now, opened)
}

// Close releases the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Dir is the directory of a record, for the rooms that read it.
func (f *Folder) Dir(e Entry) string { return filepath.Join(f.dir, filepath.FromSlash(e.Path)) }

// List returns the records, the newest first, without those that cannot be opened. Damaged ones have an error.
func (f *Folder) List() []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[string]seen{}
	f.walk(".", 0, found)
	nameParts(found)
	f.known = found
	list := make([]Entry, 0, len(found))
	for _, s := range found {
		list = append(list, s.entry)
	}
	sortEntries(list)
	return list
}

func sortEntries(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.root, b.root), strings.Compare(a.Path, b.Path))
	})
}

// Find returns a record by its id.
func (f *Folder) Find(id string) (Entry, bool) {
	for range 2 { // from what is known first: listing again is for records that came, began or ended since
		if e, ok := f.lookup(id); ok {
			if _, held := record.Holder(f.Dir(e)); held == e.Live {
				return e, true
			}
		}
		f.List()
	}
	return f.lookup(id) // what began or ended at this very moment is as it was just listed
}

// Inside says whether all of a record lies in the folder: whether no link in it leads outside, or to nothing. A page
// reads the files of a record by their names, so it is asked before.
func (f *Folder) Inside(e Entry) bool {
	return fs.WalkDir(f.root.FS(), e.Path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeSymlink != 0 {
			_, err = f.root.Stat(name) // refuses what leads outside
		}
		if errors.Is(err, fs.ErrNotExist) && (d == nil || d.Type()&fs.ModeSymlink == 0) {
			return nil // it was removed in this moment
		}
		return err
	}) == nil
}

func (f *Folder) lookup(id string) (Entry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.known {
		if s.entry.ID == id {
			return s.entry, true
		}
	}
	return Entry{}, false
}

// Search returns the records that have all words in their title, path, kind, status or labels.
func Search(list []Entry, words string) []Entry {
	return slices.DeleteFunc(slices.Clone(list), func(e Entry) bool {
		text := strings.Join([]string{e.Title, e.What, e.Path, e.Kind, string(e.Status), e.Verdict}, " ")
		for k, v := range e.Labels {
			text += " " + k + "=" + v
		}
		return !hasWords(text, words)
	})
}

// hasWords reports whether a text has all words, in any case.
func hasWords(text, words string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), func(w string) bool {
		return !strings.Contains(text, w)
	})
}

// walk looks for records in a directory and below it. What is below a run belongs to the run; the trials of a study are
// records of their own, and so are the parts of a suite.
func (f *Folder) walk(dir string, depth int, found map[string]seen) {
	if depth > maxDepth || len(found) >= maxEntries {
		return
	}
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if err != nil {
		return
	}
	for _, file := range record.MainFiles() {
		if s, ok := f.look(dir, file); ok {
			found[dir] = s
			if record.Whole(s.read.Kind) {
				return
			}
			break
		}
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") { // a link is no directory here
			f.walk(path.Join(dir, e.Name()), depth+1, found)
		}
	}
}

// look reads what the list shows of a record, unless it was read before and has not changed.
func (f *Folder) look(dir, file string) (seen, bool) {
	name := path.Join(dir, file)
	info, err := f.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxHead {
		return seen{}, false
	}
	old, ok := f.known[dir]
	if !ok || !old.modified.Equal(info.ModTime()) || old.size != info.Size() {
		e, parts, err := f.read(name, file)
		if err != nil {
			return seen{}, false
		}
		e.Place = path.Join(filepath.ToSlash(f.prefix), dir)
		e.Title = cmp.Or(e.Title, path.Base(e.Place))
		report.Tidy(&e)
		e.ID, e.Path, e.root = f.idOf(dir), dir, f.prefix
		report.Tidy(&parts)
		old = seen{modified: info.ModTime(), size: info.Size(), read: e, parts: parts}
	}
	_, held := record.Holder(filepath.Join(f.dir, filepath.FromSlash(dir)))
	e := old.read
	if e.Live = held; held {
		e.Status = record.Running
	} else if e.Status == record.Running {
		// The file was written at the start and knows nothing of the end, so its verdict is none.
		e.Status, e.Verdict, e.Grade = record.Killed, "", report.Warn
	}
	old.entry = e
	return old, true
}

// idOf is the ID of a record of the folder.
func (f *Folder) idOf(dir string) string {
	if f.prefix == "" {
		return idOf(dir)
	}
	return idOf(f.prefix + "\x00" + dir)
}

func idOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// read reads the head of a record, and the names of the records below it by their paths in it. A file that is damaged
// is listed as that.
func (f *Folder) read(name, file string) (Entry, map[string]string, error) {
	in, err := safeopen.OpenIn(f.root, name)
	if err != nil {
		return Entry{}, nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxHead))
	if err != nil {
		return Entry{}, nil, err
	}
	var e Entry
	var names map[string]string
	if err := contain.Panic("the document of "+name, func() (err error) { // a record may come from anybody
		e, names, err = entryOf(file, b, in)
		return err
	}); err != nil {
		return Entry{Entry: report.Entry{Kind: record.KindOf(file), Verdict: "damaged", Grade: report.Bad}}, nil, nil
	}
	return e, names, nil
}

func entryOf(file string, b []byte, in *os.File) (Entry, map[string]string, error) {
	r, err := record.Decode(file, b)
	if err != nil {
		return Entry{}, nil, err
	}
	e := Entry{Started: r.Common().Started}
	var parts map[string]string
	e.Entry, parts = report.EntryOf(r)
	if info, err := in.Stat(); err == nil && e.Started.IsZero() { // it says nothing of when it was made
		e.Started = info.ModTime()
	}
	return e, parts, nil
}
