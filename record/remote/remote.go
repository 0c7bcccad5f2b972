// Package remote keeps records of branches in a directory, in S3-compatible storage or in an OCI registry, so that runs
// of a CI system find those before them. A record is packed as one archive. The libraries know protocols and
// credentials; this package knows names only.
package remote

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

var unsafe = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// Branch is the part of names that stands for a branch: refs/heads/feature/x becomes feature-x.
func Branch(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/")
	return strings.Trim(unsafe.ReplaceAllString(name, "-"), "-")
}

// Pull unpacks the newest records of a branch below dir, at most limit, and skips those that are there already.
func Pull(ctx context.Context, s Store, branch, dir string, limit int) (n int, err error) {
	names, err := s.List(ctx)
	if err != nil {
		return 0, fmt.Errorf("cannot list the records of the store: %w", err)
	}
	prefix := Branch(branch) + "."
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) || !archived(name) })
	slices.Sort(names)
	if len(names) > limit {
		names = names[len(names)-limit:]
	}
	for _, name := range names {
		to := filepath.Join(dir, strings.TrimSuffix(name, suffix))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if err := pull(ctx, s, name, to); err != nil {
			return n, fmt.Errorf("cannot get the record %s: %w", name, err)
		}
		n++
	}
	return n, nil
}

func pull(ctx context.Context, s Store, name, to string) error {
	r, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	part := to + ".part"
	defer os.RemoveAll(part)
	if err := unpack(r, part); err != nil {
		return err
	}
	return os.Rename(part, to)
}

// Push packs a record and stores it under a branch and an ID that sorts by time.
func Push(ctx context.Context, s Store, branch, id, dir string) error {
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
		err = s.Put(ctx, Branch(branch)+"."+id+suffix, f.Name())
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
	return os.Open(filepath.Join(string(d), name))
}

func (d directory) Put(_ context.Context, name, file string) error {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	from, err := os.Open(file)
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
