// Package journal keeps a list of the resources of a lab, or of the faults in a deployment. Each resource is in the
// list before it is made, so that a later process can remove all of them, whatever happened to the first process.
//
// A journal is a file of JSON lines in the directory of a lab. Each line is on the disk before [Journal.Add] returns.
// If a crash tears a line, its resource was not made yet. The packages that make resources also have a [Remover] for
// each of their kinds. Nothing is removed that is not in the journal.
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

const FileName = "journal.ndjson"

// Resource is a resource that exists, or is about to be made.
type Resource struct {
	// ID is chosen by [Journal.Add].
	ID int `json:"id"`
	// Kind decides which [Remover] removes it: "process", "cgroup", "namespace", "link", "mount", "loop", …
	Kind string `json:"kind"`
	// Name is a path, a device or an interface.
	Name string `json:"name"`
	// Details are for the remover.
	Details map[string]string `json:"details,omitempty"`
}

type line struct {
	Do string `json:"do"` // "make", "note" or "gone"
	Resource
}

// Journal is safe for use by several goroutines, but only one process may have it open: the one that has locked the
// lab.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	live map[int]Resource
	last int
}

// Open opens the journal in a directory, which must exist, or makes a new one. It cuts off a torn last line. A damaged
// line before the end is an error, because the lines after it cannot be trusted.
func Open(dir string) (*Journal, error) {
	path := filepath.Join(dir, FileName)
	j, complete, err := read(path)
	if err != nil {
		return nil, err
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the journal: %w", err)
	}
	if err := j.cut(int64(complete), dir); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the journal: %w", err), j.file.Close())
	}
	return j, nil
}

// Read returns what [Journal.Live] would, and changes nothing. Another process may have the journal open.
func Read(dir string) ([]Resource, error) {
	j, _, err := read(filepath.Join(dir, FileName))
	if err != nil {
		return nil, err
	}
	return j.Live(), nil
}

// read reads a journal, and returns the length of its complete lines.
func read(path string) (j *Journal, complete int, err error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("cannot read the journal: %w", err)
	}
	j = &Journal{live: map[int]Resource{}}
	if complete, err = j.replay(content); err != nil {
		return nil, 0, fmt.Errorf("%s is damaged: %w. Remove the resources that it lists by hand", path, err)
	}
	return j, complete, nil
}

// cut truncates the file after the last complete line, and syncs the file and its directory.
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

// replay applies the lines of a journal and returns the length of the complete lines.
func (j *Journal) replay(content []byte) (complete int, err error) {
	in := bufio.NewReader(bytes.NewReader(content))
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if err != nil { // no line feed: torn, or the end
			return complete, nil
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			if complete+len(text) == len(content) { // a torn line that happens to end in a line feed
				return complete, nil
			}
			return complete, fmt.Errorf("line %d: %w", number, err)
		}
		if err := j.apply(l); err != nil {
			return complete, fmt.Errorf("line %d: %w", number, err)
		}
		complete += len(text)
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
			return fmt.Errorf("the resource %d does not exist", l.ID)
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
		return fmt.Errorf("the operation %q is not known", l.Do)
	}
	return nil
}

// append writes and syncs a line, and then applies it.
func (j *Journal) append(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if j.file == nil {
		return fmt.Errorf("cannot write the journal: %w", os.ErrClosed)
	}
	at, err := j.file.Seek(0, 1)
	if err != nil {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	_, err = j.file.Write(append(b, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil { // a half line would make the following lines unreadable
		_, seek := j.file.Seek(at, 0)
		return errors.Join(fmt.Errorf("cannot write the journal: %w", err), j.file.Truncate(at), seek)
	}
	return j.apply(l)
}

// Add adds a resource that is about to be made, and returns its id. If Add fails, the resource must not be made.
func (j *Journal) Add(kind, name string, details map[string]string) (id int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := Resource{ID: j.last + 1, Kind: kind, Name: name, Details: maps.Clone(details)}
	return r.ID, j.append(line{"make", r})
}

// Note adds details of a resource that are known only after it was made, such as a process id.
func (j *Journal) Note(id int, details map[string]string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(line{"note", Resource{ID: id, Details: details}})
}

// Gone removes a resource that does not exist any more from the list. It ignores one that is not in the list.
func (j *Journal) Gone(id int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, ok := j.live[id]; !ok {
		return nil
	}
	return j.append(line{"gone", Resource{ID: id}})
}

// Live returns all resources that may exist, in the order of their creation.
func (j *Journal) Live() []Resource {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.SortedFunc(maps.Values(j.live), func(a, b Resource) int { return a.ID - b.ID })
}

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

// Remover removes a resource. It succeeds if the resource does not exist, because resources are in the journal before
// they are made. It must verify that it removes the resource in the journal, because ids of processes and names of
// devices are reused.
type Remover func(ctx context.Context, r Resource) error

// Clean removes all resources, the newest first. A resource that cannot be removed stays in the journal, and the error
// names all of them.
func (j *Journal) Clean(ctx context.Context, removers map[string]Remover) error {
	var all error
	live := j.Live()
	for _, r := range slices.Backward(live) {
		if ctx.Err() != nil {
			return errors.Join(all, context.Cause(ctx))
		}
		remove, ok := removers[r.Kind]
		if !ok {
			all = errors.Join(all, fmt.Errorf("this version of plimsoll cannot remove %s %s. "+
				"Use the version that created the lab", r.Kind, r.Name))
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
