package remote

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tarOf packs entries. The content of each is as long as its header says.
func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, zeros{}, h.Size); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// An archive that is damaged, too large or leaves its directory is refused, and nothing of it is written.
func TestRefusedArchives(t *testing.T) {
	good := tarOf(t, tar.Header{Name: "run.json", Size: 1 << 20}, tar.Header{Name: "a/b", Size: 3})
	files := make([]tar.Header, maxFiles+1)
	for i := range files {
		files[i].Name = fmt.Sprint(i)
	}
	for what, c := range map[string]struct {
		data []byte
		want string // "" if it is an archive
	}{
		"good":           {good, ""},
		"a link":         {tarOf(t, tar.Header{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), ""}, // left out
		"empty":          {nil, "not an archive"},
		"text":           {[]byte("not an archive"), "not an archive"},
		"cut off":        {good[:len(good)-20], "damaged"},
		"other bits":     {append(bytes.Clone(good[:len(good)-6]), 1, 2, 3, 4, 5, 6), "damaged"},
		"outside":        {tarOf(t, tar.Header{Name: "run.json", Size: 1}, tar.Header{Name: "../escaped", Size: 1}), "leads out of a record"},
		"absolute":       {tarOf(t, tar.Header{Name: "/tmp/escaped", Size: 1}), "leads out of a record"},
		"a bomb":         {tarOf(t, tar.Header{Name: "run.json", Size: 1}, tar.Header{Name: "x", Size: 200 << 20}), "unpacks to more than"},
		"too many files": {tarOf(t, files...), "more than"},
	} {
		dir := filepath.Join(t.TempDir(), "record")
		left := int64(maxUnpacked)
		err := unpack(bytes.NewReader(c.data), dir, &left)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		if _, stat := os.Stat(dir); err != nil && !errors.Is(stat, fs.ErrNotExist) {
			t.Errorf("%s: something was written", what)
		}
		if used := maxUnpacked - left; used > maxRatio*int64(len(c.data))+anyRatio+1 {
			t.Errorf("%s: %d bytes were unpacked", what, used)
		}
	}
}

// An archive that cannot be read does not hide the others, and is reported. All archives of a check have one budget.
func TestDamagedArchivesAreSkipped(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	s := directory(store)
	from := t.TempDir()
	write(t, from, "run.json", "{}")
	sealed(t, from, "run.json")
	for _, id := range []string{"1", "2", "4"} {
		if err := Push(t.Context(), s, Branch("main"), id, from); err != nil {
			t.Fatal(err)
		}
	}
	write(t, store, Branch("main").Record("3")+suffix, "damaged")
	write(t, store, Branch("main").Record("5")+suffix, string(tarOf(t, tar.Header{Name: "run.json", Size: 100 << 20})))
	dir := t.TempDir()
	p, err := Pull(t.Context(), s, "main", dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	for _, x := range p.Skipped {
		skipped = append(skipped, x.Name)
	}
	if diff := cmp.Diff([]string{"branch.main.5", "branch.main.3"}, skipped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"branch.main.1", "branch.main.2", "branch.main.4"}, p.Names); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	left := int64(2048) // of one archive with its headers
	data := tarOf(t, tar.Header{Name: "run.json", Size: 3})
	for i, want := range []bool{true, false} {
		if err := unpack(bytes.NewReader(data), filepath.Join(t.TempDir(), fmt.Sprint(i)), &left); (err == nil) != want {
			t.Errorf("archive %d with %d bytes left: %v", i, left, err)
		}
	}
}

// Only the files of a record are stored and copied, not those that a coordinator or a person left beside them.
func TestOtherFilesAreLeft(t *testing.T) {
	from := t.TempDir()
	for _, name := range []string{"run.json", "trials/1/run.json", "trials/1/logs/a.log", "trials/2/run.json", "coordinator/coordinator.json",
		"notes.txt", "trials/1/.env"} {
		write(t, from, name, "{}")
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(from, "link.json")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := pack(&b, from); err == nil || !strings.Contains(err.Error(), "not complete") {
		t.Errorf("a record without checksums: %v", err)
	}
	sealed(t, from, "run.json", "link.json", "../outside")
	sealed(t, filepath.Join(from, "trials/1"), "run.json", "logs/a.log")
	want := []string{"SHA256SUMS", "run.json", "trials/1/SHA256SUMS", "trials/1/logs/a.log", "trials/1/run.json"}
	to, unpacked, left := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "unpacked"), int64(maxUnpacked)
	b.Reset()
	if err := errors.Join(Copy(from, to), pack(&b, from)); err != nil {
		t.Fatal(err)
	}
	if err := unpack(bytes.NewReader(b.Bytes()), unpacked, &left); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{to, unpacked} {
		var got []string
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				got = append(got, name)
			}
			return err
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// No archive writes outside of its directory, or more than its bound.
func FuzzArchive(f *testing.F) {
	f.Add(tarOf(f, tar.Header{Name: "run.json", Size: 9}, tar.Header{Name: "a/b.c", Size: 700}))
	f.Add(tarOf(f, tar.Header{Name: "../x", Size: 9}))
	f.Add(tarOf(f, tar.Header{Name: "x", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}))
	f.Add(tarOf(f, tar.Header{Name: "x", Size: 5, PAXRecords: map[string]string{"comment": "y"}, Format: tar.FormatPAX}))
	f.Add([]byte{0x1f, 0x8b})
	const most = 1 << 20
	top := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		packed := data
		if len(data) > 0 && data[0] != 0x1f { // the fuzzer changes the inside too
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(data[1:]); err != nil || z.Close() != nil {
				t.Fatal(err)
			}
			packed = b.Bytes()
		}
		around, err := os.MkdirTemp(top, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(around)
		left := int64(most)
		failed := unpack(bytes.NewReader(packed), filepath.Join(around, "in"), &left)
		size := int64(0)
		inside := filepath.Join(around, "in") + string(filepath.Separator)
		err = filepath.WalkDir(around, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(path, inside) {
				t.Errorf("%s: %v, %v", path, info, err)
			}
			size += info.Size()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if size > most || failed == nil && size > most-left {
			t.Errorf("%d bytes were written of %d, %v", size, most-left, failed)
		}
	})
}
