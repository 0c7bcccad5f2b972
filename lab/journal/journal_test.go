package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, j *Journal, kind, name string) int {
	t.Helper()
	id, err := j.Add(kind, name, nil)
	must(t, err)
	return id
}

func names(rs []Resource) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Kind+" "+r.Name)
	}
	return out
}

func TestJournalIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	add(t, j, "cgroup", "a")
	p := add(t, j, "process", "m1")
	gone := add(t, j, "mount", "b")
	must(t, j.Note(p, map[string]string{"pid": "7"}))
	must(t, j.Note(p, map[string]string{"start": "9"}))
	must(t, j.Gone(gone))
	must(t, j.Gone(gone))
	must(t, j.Close())
	again := open(t, dir)
	want := []Resource{{ID: 1, Kind: "cgroup", Name: "a"},
		{ID: 2, Kind: "process", Name: "m1", Details: map[string]string{"pid": "7", "start": "9"}}}
	if diff := cmp.Diff(want, again.Live()); diff != "" {
		t.Error(diff)
	}
	if id := add(t, again, "loop", "c"); id != 4 {
		t.Errorf("the next id is %d: ids must not be used again", id)
	}
}

// A crash can tear the last line at any byte; everything before it counts.
func TestTornAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	add(t, j, "mount", "a")
	first := size(t, dir)
	add(t, j, "mount", "b")
	must(t, j.Close())
	content, err := os.ReadFile(filepath.Join(dir, FileName))
	must(t, err)
	for n := first; n < len(content); n++ {
		torn := t.TempDir()
		must(t, os.WriteFile(filepath.Join(torn, FileName), content[:n], 0o600))
		j := open(t, torn)
		if diff := cmp.Diff([]string{"mount a"}, names(j.Live())); diff != "" {
			t.Fatalf("cut at byte %d: %s", n, diff)
		}
		add(t, j, "mount", "c")
		must(t, j.Close())
		if diff := cmp.Diff([]string{"mount a", "mount c"}, names(open(t, torn).Live())); diff != "" {
			t.Fatalf("cut at byte %d, then added: %s", n, diff)
		}
	}
}

func size(t *testing.T, dir string) int {
	t.Helper()
	fi, err := os.Stat(filepath.Join(dir, FileName))
	must(t, err)
	return int(fi.Size())
}

func TestDamageBeforeTheEndIsAnError(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, FileName), []byte("{garbage\n{\"do\":\"make\",\"id\":1}\n"), 0o600))
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v, want an error that names the line", err)
	}
}

func TestCleanGoesBackwardsAndKeepsWhatItCannotRemove(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	add(t, j, "loop", "0")
	add(t, j, "mount", "busy")
	add(t, j, "mount", "free")
	add(t, j, "ghost", "x")
	var order []string
	removers := map[string]Remover{
		"loop": func(_ context.Context, r Resource) error { order = append(order, r.Name); return nil },
		"mount": func(_ context.Context, r Resource) error {
			order = append(order, r.Name)
			if r.Name == "busy" {
				return errors.New("in use")
			}
			return nil
		},
	}
	err := j.Clean(context.Background(), removers)
	if err == nil || !strings.Contains(err.Error(), "mount busy: in use") || !strings.Contains(err.Error(), "ghost x") {
		t.Errorf("got %v, want an error that names what is left", err)
	}
	if diff := cmp.Diff([]string{"free", "busy", "0"}, order); diff != "" {
		t.Error(diff)
	}
	must(t, j.Close())
	if diff := cmp.Diff([]string{"mount busy", "ghost x"}, names(open(t, dir).Live())); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsWrittenAfterClose(t *testing.T) {
	j := open(t, t.TempDir())
	must(t, j.Close())
	if _, err := j.Add("mount", "a", nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"do\":\"make\",\"id\":1,\"kind\":\"mount\",\"name\":\"a\"}\n{\"do\":\"gone\",\"id\":1}\n"))
	f.Add([]byte("{\"do\":\"note\",\"id\":1}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, FileName), content, 0o600))
		j, err := Open(dir)
		if err != nil {
			return
		}
		live := j.Live()
		must(t, j.Close())
		if diff := cmp.Diff(live, open(t, dir).Live()); diff != "" {
			t.Error(diff)
		}
	})
}
