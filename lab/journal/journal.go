// Package journal writes down what a lab makes before it is made, so that a later process can remove all of it
// whatever became of the first one.
//
// A journal is a file of JSON lines in the directory of a lab. Each line is on the disk before [Journal.Add] returns;
// a line that was torn by a crash is one whose resource was not made yet. What a resource is and how it is removed is
// the business of the rooms that make it: they bring a [Remover] for each of their kinds. Nothing is removed that is
// not in the journal.
package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// FileName is the journal's file in the directory of a lab.
const FileName = "journal.ndjson"

// Resource is something that was made, or is about to be.
type Resource struct {
	// ID names it within the journal; [Journal.Add] chooses it.
	ID int `json:"id"`
	// Kind decides which [Remover] removes it: "process", "cgroup", "namespace", "link", "mount", "loop", …
	Kind string `json:"kind"`
	// Name is what it is called where it lives: a path, a device, an interface.
	Name string `json:"name"`
	// Details are what else its remover needs.
	Details map[string]string `json:"details,omitempty"`
}

// line is one line of the file.
type line struct {
	Do string `json:"do"` // "make", "note" or "gone"
	Resource
}

// Journal is safe for use by several goroutines, but only one process may have it open: who opens it holds the
// directory of the lab.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	live map[int]Resource
	last int
}

// Open opens the journal in a directory, which must exist, and makes it where there is none. A torn last line is cut
// off; one that is damaged before the end is an error, because what follows it could not be trusted.
func Open(dir string) (*Journal, error) {
	path := filepath.Join(dir, FileName)
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the journal of the lab: %w", err)
	}
	j := &Journal{live: map[int]Resource{}}
	whole, err := j.replay(content)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; what it names must be removed by hand", path, err)
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the journal of the lab: %w", err)
	}
	if err := j.cut(int64(whole), dir); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the journal of the lab: %w", err), j.file.Close())
	}
	return j, nil
}

// cut drops what follows the last whole line and makes the file's existence durable.
func (j *Journal) cut(at int64, dir string) error {
	if err := j.file.Truncate(at); err != nil {
		return err
	}
	if _, err := j.file.Seek(at, 0); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// replay applies the lines of a journal and returns how many bytes of it are whole lines.
func (j *Journal) replay(content []byte) (whole int, err error) {
	in := bufio.NewReader(bytes.NewReader(content))
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if err != nil { // no line feed: torn, or the end
			return whole, nil
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			if whole+len(text) == len(content) { // a torn line that happens to end in a line feed
				return whole, nil
			}
			return whole, fmt.Errorf("line %d: %w", number, err)
		}
		if err := j.apply(l); err != nil {
			return whole, fmt.Errorf("line %d: %w", number, err)
		}
		whole += len(text)
	}
}

func (j *Journal) apply(l line) error {
	switch l.Do {
	case "make":
		j.live[l.ID] = l.Resource
		j.last = max(j.last, l.ID)
	case "note":
		r, ok := j.live[l.ID]
		if !ok {
			return fmt.Errorf("it speaks of %d, which is not there", l.ID)
		}
		r.Details = maps.Clone(r.Details)
		if r.Details == nil {
			r.Details = map[string]string{}
		}
		maps.Copy(r.Details, l.Details)
		j.live[l.ID] = r
	case "gone":
		delete(j.live, l.ID)
	default:
		return fmt.Errorf("%q is not known", l.Do)
	}
	return nil
}

// append writes a line and makes it durable, and applies it only then.
func (j *Journal) append(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if j.file == nil {
		return fmt.Errorf("cannot write the journal of the lab: %w", os.ErrClosed)
	}
	at, err := j.file.Seek(0, 1)
	if err != nil {
		return fmt.Errorf("cannot write the journal of the lab: %w", err)
	}
	_, err = j.file.Write(append(b, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil { // a half line would make all that follow unreadable
		_, seek := j.file.Seek(at, 0)
		return errors.Join(fmt.Errorf("cannot write the journal of the lab: %w", err), j.file.Truncate(at), seek)
	}
	return j.apply(l)
}

// Add writes down a resource that is about to be made, and returns its id. If it fails, the resource must not be made.
func (j *Journal) Add(kind, name string, details map[string]string) (id int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := Resource{ID: j.last + 1, Kind: kind, Name: name, Details: maps.Clone(details)}
	return r.ID, j.append(line{"make", r})
}

// Note adds details of a resource that are known only after it was made, such as the id of a process.
func (j *Journal) Note(id int, details map[string]string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(line{"note", Resource{ID: id, Details: details}})
}

// Gone says that a resource does not exist any more. One that is not in the journal is gone already.
func (j *Journal) Gone(id int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, ok := j.live[id]; !ok {
		return nil
	}
	return j.append(line{"gone", Resource{ID: id}})
}

// Live returns all resources that may exist, in the order in which they were made.
func (j *Journal) Live() []Resource {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.SortedFunc(maps.Values(j.live), func(a, b Resource) int { return a.ID - b.ID })
}

// Close closes the file. Nothing can be written down afterwards.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// Remover removes a resource. It succeeds if there is none, because the journal is ahead of what is made, and it must
// make sure that what it removes is what was written down: ids of processes and names of devices are used again.
type Remover func(ctx context.Context, r Resource) error

// Clean removes all resources, the last made first. One that cannot be removed stays in the journal, and does not
// keep the others from being tried: the error names each of them.
func (j *Journal) Clean(ctx context.Context, removers map[string]Remover) error {
	var all error
	live := j.Live()
	for _, r := range slices.Backward(live) {
		if ctx.Err() != nil {
			return errors.Join(all, context.Cause(ctx))
		}
		remove, ok := removers[r.Kind]
		if !ok {
			all = errors.Join(all, fmt.Errorf("%s %s: this plimsoll does not know how to remove it; use the version that made it", r.Kind, r.Name))
			continue
		}
		if err := remove(ctx, r); err != nil {
			all = errors.Join(all, fmt.Errorf("cannot remove %s %s: %w", r.Kind, r.Name, err))
			continue
		}
		if err := j.Gone(r.ID); err != nil {
			return errors.Join(all, err)
		}
	}
	return all
}
