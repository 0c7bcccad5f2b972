// Package remote keeps records of branches in a directory, in S3-compatible storage or in an OCI registry, so that runs
// of a CI system find those before them. Nothing is compared with records of change requests. A
// record is packed as one archive. The libraries know protocols and credentials; this package knows names only.
package remote

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// Store keeps archives by name. A name has letters, digits, dots, dashes and underscores, and sorts by time.
type Store interface {
	List(ctx context.Context) ([]string, error) // in any order
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	Put(ctx context.Context, name, file string) error
}

// Open opens the store at an address: a directory, s3://BUCKET/PREFIX?endpoint=HOST or oci://REGISTRY/REPOSITORY.
func Open(address string) (Store, error) {
	scheme, _, found := strings.Cut(address, "://")
	if !found {
		return directory(address), nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the address of the store is wrong: %w", err)
	case scheme == "s3":
		return openS3(u)
	case scheme == "oci":
		return openOCI(u)
	}
	return nil, fmt.Errorf("unknown store %s: use a directory, s3://BUCKET/PREFIX or oci://REGISTRY/REPOSITORY", address)
}

// Pulled is what a check got from a store.
type Pulled struct {
	Names   []string // of the records in the directory, the oldest first
	New     int      // of them that were not there already
	Skipped []Skipped
}

// Skipped is an archive that cannot be read, so its record is not there.
type Skipped struct {
	Name string
	Err  error
}

// Pull unpacks the newest records of a branch below dir, at most limit, and skips those that are there already. An
// archive that cannot be read is skipped. The error is that of the store or of ctx.
func Pull(ctx context.Context, s Store, branch, dir string, limit int) (Pulled, error) {
	var p Pulled
	if err := permit.Check(ctx, permit.Dial, "the store"); err != nil {
		return p, err
	}
	names, err := s.List(ctx)
	if err != nil {
		return p, fmt.Errorf("cannot list the records of the store: %w", err)
	}
	line := Branch(branch)
	names = slices.DeleteFunc(names, func(name string) bool { return !line.has(name) })
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) })
	left := int64(maxUnpacked)
	for _, name := range names[:min(len(names), 2*limit)] { // with as many damaged ones
		record := strings.TrimSuffix(name, suffix)
		if len(p.Names) == limit {
			break
		}
		if _, err := os.Stat(filepath.Join(dir, record)); err != nil {
			if err := pull(ctx, s, name, filepath.Join(dir, record), &left); err != nil {
				if ctx.Err() != nil {
					return p, ctx.Err()
				}
				p.Skipped = append(p.Skipped, Skipped{record, err})
				continue
			}
			p.New++
		}
		p.Names = append(p.Names, record)
	}
	slices.Reverse(p.Names)
	return p, nil
}

// pull gets an archive and unpacks it. The archive is kept in a file meanwhile, because it is read twice.
func pull(ctx context.Context, s Store, name, to string, left *int64) error {
	r, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".archive-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := io.Copy(f, io.LimitReader(r, maxPacked+1)); err != nil {
		return err
	}
	part := to + ".part"
	defer os.RemoveAll(part)
	if err := os.RemoveAll(part); err != nil { // of a check that was killed
		return err
	}
	if err := unpack(f, part, left); err != nil {
		return err
	}
	return os.Rename(part, to)
}

// Push packs a record and stores it under a line and an ID that sorts by time.
func Push(ctx context.Context, s Store, line Line, id, dir string) error {
	f, err := os.CreateTemp("", "plimsoll-*"+suffix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = pack(f, dir)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = s.Put(ctx, line.Record(id)+suffix, f.Name())
	}
	if err != nil {
		return fmt.Errorf("cannot store the record: %w", err)
	}
	return nil
}

// directory is a store of files.
type directory string

func (d directory) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if os.IsNotExist(err) {
		return nil, nil // it is made by the first record
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d directory) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return safeopen.Open(string(d), name)
}

func (d directory) Put(_ context.Context, name, file string) error {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	from, err := safeopen.OpenFile(file)
	if err != nil {
		return err
	}
	defer from.Close()
	part, err := os.CreateTemp(string(d), "part-")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	if _, err = io.Copy(part, from); err == nil {
		err = part.Chmod(0o644)
	}
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(part.Name(), filepath.Join(string(d), name))
}
