package embedded

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/plimsoll-bench/plimsoll/store"
)

// brokenFS fails changes with err once broken is set, or once budget bytes have been written.
type brokenFS struct {
	vfs.FS
	err    error
	broken atomic.Bool
	budget atomic.Int64
}

func newBrokenFS(err error, budget int64) *brokenFS {
	b := &brokenFS{FS: vfs.Default, err: err}
	b.budget.Store(budget)
	return b
}

func (b *brokenFS) check() error {
	if b.broken.Load() {
		return &os.PathError{Op: "write", Path: "somewhere", Err: b.err}
	}
	return nil
}

func (b *brokenFS) MkdirAll(dir string, perm os.FileMode) error {
	return errors.Join(b.check(), b.FS.MkdirAll(dir, perm))
}

func (b *brokenFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	f, err := b.FS.Create(name, c)
	return &brokenFile{File: f, fs: b}, err
}

func (b *brokenFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	f, err := b.FS.ReuseForWrite(old, name, c)
	return &brokenFile{File: f, fs: b}, err
}

type brokenFile struct {
	vfs.File
	fs *brokenFS
}

func (f *brokenFile) Write(p []byte) (int, error) {
	if f.fs.budget.Add(-int64(len(p))) < 0 {
		f.fs.broken.Store(true)
	}
	if err := f.fs.check(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2]) // what fitted
		return n, err
	}
	return f.File.Write(p)
}

func (f *brokenFile) Sync() error                  { return errors.Join(f.fs.check(), f.File.Sync()) }
func (f *brokenFile) SyncData() error              { return errors.Join(f.fs.check(), f.File.SyncData()) }
func (f *brokenFile) SyncTo(n int64) (bool, error) { return false, f.fs.check() }

// TestDiskFull fills the disk during concurrent writes: every session gets an outcome and a message, nothing panics or
// hangs, and the documents that were acknowledged with a sync exist afterwards.
func TestDiskFull(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 6 {
		budget := 50<<10 + r.Int64N(4<<20) // hits logs, tables and manifests
		dir := t.TempDir()
		st := open(t, dir, journaled(), options{memTableBytes: 256 << 10, fs: newBrokenFS(syscall.ENOSPC, budget)})
		var mu sync.Mutex
		var acked []any
		var wg sync.WaitGroup
		for w := range 8 {
			x := testerOn(t, st)
			wg.Go(func() {
				for i := w; ; i += 8 {
					id := int32(i)
					res := x.do(insertReq(t, d("_id", id, "pad", make([]byte, 2000))))
					if res.Outcome != store.OK {
						checkFull(t, res, store.Indeterminate, store.NotApplied)
						return
					}
					mu.Lock()
					acked = append(acked, id)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		x := testerOn(t, st)
		checkFull(t, x.do(insertReq(t, d("_id", -1))), store.NotApplied)
		checkFull(t, x.do(findReq(t, d("_id", 0))), store.Failed)
		if err := st.Close(); err == nil || !strings.Contains(err.Error(), "is full") {
			t.Errorf("close after a full disk: %v", err)
		}
		x = testerOn(t, open(t, dir, store.Concern{}, options{}))
		for _, id := range acked {
			if x.get(id) == nil {
				t.Errorf("budget %d: document %v was acknowledged and is lost", budget, id)
			}
		}
		t.Logf("budget %d: %d documents acknowledged", budget, len(acked))
	}
}

func checkFull(t *testing.T, res store.Result, allowed ...store.Outcome) {
	t.Helper()
	full := strings.Contains(res.Message, "is full: free space") && !strings.Contains(res.Message, "\n")
	if slices.Contains(allowed, res.Outcome) && res.Reason == store.Storage && full {
		return
	}
	t.Errorf("%s by %s: %q, want one of %v by storage that says that the disk is full", res.Outcome, res.Reason, res.Message, allowed)
}

// TestDiskFails: an I/O error without waiting for the log is found as well.
func TestDiskFails(t *testing.T) {
	fs := newBrokenFS(syscall.EIO, 1<<40)
	st := open(t, t.TempDir(), store.Concern{}, options{fs: fs, memTableBytes: 256 << 10})
	x := testerOn(t, st)
	x.insert(d("_id", 0))
	fs.broken.Store(true)
	for i := 1; ; i++ {
		res := x.do(insertReq(t, d("_id", i, "pad", make([]byte, 2000))))
		if res.Outcome == store.OK {
			continue
		}
		if res.Reason != store.Storage || !strings.Contains(res.Message, "input/output error") {
			t.Errorf("%s by %s: %q", res.Outcome, res.Reason, res.Message)
		}
		break
	}
	if _, err := st.Info(context.Background()); err == nil {
		t.Error("the failure is not in Info")
	}
	if _, err := st.Count(context.Background(), "c"); err == nil {
		t.Error("a lost store still counts")
	}
}

func TestDirectories(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreignData := t.TempDir()
	if err := os.MkdirAll(filepath.Join(foreignData, dataDir, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, markerFile), []byte("plimsoll embedded store, format 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	held := t.TempDir()
	open(t, held, store.Concern{}, options{})
	broken := func(err error) options {
		fs := newBrokenFS(err, 1<<40)
		fs.broken.Store(true)
		return options{fs: fs}
	}
	for _, c := range []struct {
		dir, want string
		o         options
	}{
		{dir: "", want: "needs a directory"},
		{dir: file, want: "is a file, not a directory"},
		{dir: filepath.Join(file, "sub"), want: "is a file"},
		{dir: foreign, want: "holds other files (letter.txt)"},
		{dir: foreignData, want: "holds other files (data)"},
		{dir: newer, want: "unknown format"},
		{dir: held, want: "already open in this process"},
		{dir: filepath.Join(t.TempDir(), "x"), o: broken(syscall.EROFS), want: "read-only file system"},
		{dir: filepath.Join(t.TempDir(), "x"), o: broken(syscall.EACCES), want: "no permission to write"},
		{dir: filepath.Join(t.TempDir(), "x"), o: broken(syscall.ENOSPC), want: "is full"},
	} {
		st, err := openWith(ctx, c.dir, store.Config{}, c.o)
		if err == nil {
			_ = st.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("open %q: %v, want one line with %q", c.dir, err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(foreign, dataDir)); err == nil {
		t.Error("a refused directory was written to")
	}
}

// A store whose process was killed before its marker was whole is made again in the same directory, and can be removed.
func TestKilledBeforeItsMarker(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, dataDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, dataDir, newMarker), []byte(markerText[:5]), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := openWith(t.Context(), dir, store.Config{}, options{})
	if err == nil {
		err = st.Close()
	}
	if err == nil {
		err = Remove(dir)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestDamage overwrites the engine's files in several ways; each is one line, or the store still works.
func TestDamage(t *testing.T) {
	damage := map[string]func(data string, names []string) error{
		"manifest": func(data string, names []string) error { return overwrite(data, names, "MANIFEST-") },
		"tables":   func(data string, names []string) error { return overwrite(data, names, ".sst") },
		"missing": func(data string, names []string) error {
			return errors.Join(remove(data, names, ".sst"), remove(data, names, ".log"))
		},
	}
	for name, hurt := range damage {
		dir := t.TempDir()
		st := open(t, dir, store.Concern{}, options{})
		x := testerOn(t, st)
		for i := range 2000 {
			x.insert(d("_id", i, "pad", make([]byte, 100)))
		}
		if err := errors.Join(st.db.Flush(), st.Close()); err != nil {
			t.Fatal(err)
		}
		data := filepath.Join(dir, dataDir)
		names, err := vfs.Default.List(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := hurt(data, names); err != nil {
			t.Fatal(err)
		}
		if msg := useDamaged(t, dir); !strings.Contains(msg, "is damaged") || strings.Contains(msg, "\n") {
			t.Errorf("%s: %q, want one line that says that the store is damaged", name, msg)
		}
	}
}

// useDamaged returns the first message of opening and reading a damaged store.
func useDamaged(t *testing.T, dir string) string {
	st, err := openWith(context.Background(), dir, store.Config{}, options{})
	if err != nil {
		return err.Error()
	}
	defer st.Close()
	x := testerOn(t, st)
	for i := range 2000 {
		if res := x.do(findReq(t, d("_id", i))); res.Outcome == store.Failed {
			return res.Message
		}
	}
	return ""
}

func overwrite(data string, names []string, part string) error {
	for _, n := range names {
		path := filepath.Join(data, n)
		if !strings.Contains(n, part) || strings.HasPrefix(n, "marker.") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := range len(content) / 2 {
			content[i] ^= 0x55
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func remove(data string, names []string, part string) error {
	var err error
	for _, n := range names {
		if strings.Contains(n, part) {
			err = errors.Join(err, os.Remove(filepath.Join(data, n)))
		}
	}
	return err
}

func TestRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	st := open(t, dir, store.Concern{}, options{})
	if err := Remove(dir); err == nil || !strings.Contains(err.Error(), "already open") {
		t.Errorf("remove of an open store: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if err := Remove(dir); err != nil {
		t.Errorf("remove of what does not exist: %v", err)
	}
	// What a creation or a removal that was killed leaves.
	for _, left := range []string{".", dataDir, filepath.Join(dataDir, newMarker)} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(left)), 0o700); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(left) == newMarker {
			if err := os.WriteFile(filepath.Join(dir, left), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.MkdirAll(filepath.Join(dir, left), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := Remove(dir); err != nil {
			t.Errorf("remove of a directory with %s: %v", left, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a directory with %s is still there: %v", left, err)
		}
	}
	foreign := t.TempDir()
	letter := filepath.Join(foreign, "letter.txt")
	if err := os.WriteFile(letter, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Remove(foreign); err == nil {
		t.Error("a foreign directory was removed")
	}
	if _, err := os.Stat(letter); err != nil {
		t.Error("a foreign file was removed")
	}
	mixed := t.TempDir() // a store with a foreign file
	if err := open(t, mixed, store.Concern{}, options{}).Close(); err != nil {
		t.Fatal(err)
	}
	letter = filepath.Join(mixed, "letter.txt")
	if err := os.WriteFile(letter, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Remove(mixed); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(letter); err != nil {
		t.Error("a foreign file inside a store was removed")
	}
}

// A missing permission does not mean that another process has the lock.
func TestLockErrorSaysWhy(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{syscall.EAGAIN: "in use by another process", syscall.EACCES: "no permission", syscall.EROFS: "read-only"} {
		err := lockError("d", &os.PathError{Op: "open", Path: "LOCK", Err: errno})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", errno, err, want)
		}
	}
}

// A store whose disk is full cannot be opened, because the engine writes when it opens, and can still be emptied.
func TestRemoveFull(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, journaled(), options{})
	for _, name := range []string{"mine", "yours"} {
		req := insertReq(t, d("_id", 1))
		req.Collection = name
		testerOn(t, st).expect(store.OK, req)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	full := newBrokenFS(syscall.ENOSPC, 0)
	full.broken.Store(true)
	cfg := store.Config{Concern: journaled()}
	if _, err := openWith(t.Context(), dir, cfg, options{fs: full}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("opening a full store: %v", err)
	}
	if err := removeFull(full, dir, []string{"mine"}); err == nil || !strings.Contains(err.Error(), "other collections (yours)") {
		t.Errorf("a store with data of others: %v", err)
	}
	if err := removeFull(full, dir, []string{"yours", "mine", "more"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, dataDir)); err == nil {
		t.Error("its data are still there")
	}
	foreign := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RemoveFull(filepath.Dir(foreign), nil); err == nil {
		t.Error("a directory that is no store was taken for one")
	}
}
