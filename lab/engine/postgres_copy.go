package engine

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
)

// copiers copy files concurrently, so that their flushes share commits of the filesystem's journal.
const copiers = 8

// copyTree copies a directory tree of regular files, changes the owner and makes the copy durable. It renames the copy
// at the end, so an incomplete copy is never used. If the filesystem can share blocks between files, the kernel does
// that.
func copyTree(ctx context.Context, from, to string, uid, gid int) error {
	fresh := to + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	files := make(chan string)
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	for range copiers {
		all.Go(func() {
			for name := range files {
				if err := copyOwned(filepath.Join(from, name), filepath.Join(fresh, name), uid, gid); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	dirs, err := walkTree(ctx, from, fresh, uid, gid, files)
	close(files)
	all.Wait()
	err = errors.Join(err, failed)
	for _, d := range dirs {
		if err == nil {
			err = replace.SyncDir(d)
		}
	}
	if err == nil {
		err = os.Rename(fresh, to)
	}
	if err != nil {
		return err
	}
	return replace.SyncDir(filepath.Dir(to))
}

// walkTree makes the directories and sends the names of the files to a channel.
func walkTree(ctx context.Context, from, to string, uid, gid int, files chan<- string) (dirs []string, err error) {
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if !d.IsDir() {
			files <- name
			return nil
		}
		dir := filepath.Join(to, name)
		dirs = append(dirs, dir)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		return os.Chown(dir, uid, gid)
	})
	return dirs, err
}

func copyOwned(from, to string, uid, gid int) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) // copy_file_range
	if err == nil {
		err = out.Chown(uid, gid)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
