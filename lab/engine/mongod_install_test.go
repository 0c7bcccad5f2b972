package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// member is one entry of a made-up archive.
type member struct {
	name, text string
	kind       byte // 0: a regular file
}

// script is an executable that calls itself a mongod of a release.
func script(version string) string { return "#!/bin/sh\necho 'db version v" + version + "'\n" }

// serverArchive has the layout of MongoDB's archives.
func serverArchive(version string) []member {
	top := "mongodb-linux-x86_64-debian12-" + version + "/"
	return []member{
		{name: top + "LICENSE-Community.txt", text: "the licence"},
		{name: top + "README", text: "read me"},
		{name: top + "bin/mongod", text: script(version)},
		{name: top + "bin/mongos", text: script(version)},
	}
}

func makeArchive(t *testing.T, members []member) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o755, Size: int64(len(m.text)), Typeflag: tar.TypeReg}
		if m.kind != 0 {
			h.Typeflag, h.Linkname, h.Size = m.kind, m.text, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(m.text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

const archiveName = "mongodb-linux-x86_64-debian12-8.0.12.tgz"

func TestInstallMongod(t *testing.T) {
	archive := makeArchive(t, serverArchive("8.0.12"))
	content := newTestSite(t, archive)
	dir, site := content.dir(t), httptest.NewTLSServer(content)
	defer site.Close()
	for name, opts := range map[string]InstallOptions{
		"mirror directory": {Version: "8.0.12", Mirror: dir},
		"mirror URL":       {Version: "8.0.12", Mirror: site.URL},
		"archive file":     {Archive: filepath.Join(dir, archiveName)},
		"archive URL":      {Archive: site.URL + "/" + archiveName, SHA256: strings.ToUpper(sumOf(archive))},
	} {
		t.Run(name, func(t *testing.T) {
			if opts.Archive == "" {
				opts.Platform = "debian12"
			}
			e := &mongod{layout{t.TempDir()}, fetcher{client: site.Client(), keys: pinned(release()), site: site.URL}}
			var told []string
			tell := func(line string) { told = append(told, line) }
			for range 2 { // the second time it is there already
				if err := e.Install(t.Context(), opts, tell); err != nil {
					t.Fatal(err)
				}
			}
			inst, err := e.Installed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if inst.Version != "8.0.12" || inst.Versions["sha256"] != sumOf(archive) {
				t.Errorf("installed %+v", inst)
			}
			found, _ := filepath.Glob(filepath.Join(inst.Path, "*"))
			bin, _ := filepath.Glob(filepath.Join(inst.Path, "bin", "*"))
			var names []string
			for _, f := range append(found, bin...) {
				names = append(names, strings.TrimPrefix(f, inst.Path+"/"))
			}
			if diff := cmp.Diff([]string{"LICENSE-Community.txt", "README", "bin", "installation.json", "bin/mongod", "bin/mongos"}, names); diff != "" {
				t.Errorf("installed files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstallMongodRefuses(t *testing.T) {
	good := makeArchive(t, serverArchive("8.0.12"))
	outside := func(m member) []byte { return makeArchive(t, append(serverArchive("8.0.12"), m)) }
	for _, c := range []struct {
		name    string
		archive []byte
		opts    InstallOptions
		want    string
	}{
		{"another release", makeArchive(t, serverArchive("8.0.11")), InstallOptions{}, "has release 8.0.11"},
		{"no archive", []byte("<html>"), InstallOptions{}, "not a gzip file"},
		{"half an archive", good[:len(good)/2], InstallOptions{}, "damaged"},
		{"no mongod", makeArchive(t, serverArchive("8.0.12")[:2]), InstallOptions{}, "bin/mongod"},
		{"name twice", makeArchive(t, append(serverArchive("8.0.12"), serverArchive("8.0.12")...)), InstallOptions{}, "file exists"},
		{"foreign executable", makeArchive(t, []member{{name: "x/bin/mongod", text: "#!/bin/sh\necho hello\n"}}), InstallOptions{}, "prints no version"},
		{"another series", good, InstallOptions{Version: "7.0"}, "no archive of mongod 7.0"},
		{"path as release", good, InstallOptions{Version: "../8.0.12"}, "not a release"},
		{"a path outside", outside(member{name: "../../../evil", text: "x"}), InstallOptions{}, "points outside"},
		{"an absolute path", outside(member{name: "/etc/evil", text: "x"}), InstallOptions{}, "points outside"},
		{"a path through bin", outside(member{name: "m/../../bin/evil", text: "x"}), InstallOptions{}, "points outside"},
		{"an absolute link", outside(member{name: "m/LICENSE-link", text: "/etc", kind: tar.TypeSymlink}), InstallOptions{}, "points outside"},
		{"a link upwards", outside(member{name: "m/bin/link", text: "../../../x", kind: tar.TypeSymlink}), InstallOptions{}, "points outside"},
		{"a hard link outside", outside(member{name: "m/bin/hard", text: "/etc/passwd", kind: tar.TypeLink}), InstallOptions{}, "points outside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Mirror, c.opts.Platform = newTestSite(t, c.archive).dir(t), "debian12"
			if c.opts.Version == "" {
				c.opts.Version = "8.0.12"
			}
			home := layout{t.TempDir()}
			err := (&mongod{home, fetcher{keys: pinned(release())}}).Install(t.Context(), c.opts, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			checkNothingLeft(t, home)
		})
	}
}

// checkNothingLeft makes sure that an installation that failed left nothing.
func checkNothingLeft(t *testing.T, home layout) {
	t.Helper()
	left, _ := os.ReadDir(home.engines())
	for _, f := range left {
		if filepath.Join(home.engines(), f.Name()) != home.lock(Mongod) {
			t.Errorf("left is %s", f.Name())
		}
	}
}

// Links inside an archive are passed over, and nothing is written through them.
func TestUnpackStaysInside(t *testing.T) {
	members := append(serverArchive("8.0.12"),
		member{name: "m/bin/link", text: "../share", kind: tar.TypeSymlink},
		member{name: "m/bin/link/evil", text: "x"},
		member{name: "m/bin/hard", text: "m/bin/mongod", kind: tar.TypeLink},
	)
	top := t.TempDir()
	dir := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(top, "x.tgz")
	if err := os.WriteFile(archive, makeArchive(t, members), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unpackServer(archive, dir); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(top, func(name string, d os.DirEntry, err error) error {
		if strings.Contains(name, "evil") || strings.Contains(name, "link") || strings.Contains(name, "hard") {
			t.Errorf("unpacked %s", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func FuzzMemberPlace(f *testing.F) {
	for _, name := range []string{"m/bin/mongod", "../bin/x", "m/LICENSE", "m/../bin/..", "/", "", "m/bin/a\x00b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		place, _ := memberPlace(&tar.Header{Name: name, Typeflag: tar.TypeReg})
		if place != "" && !filepath.IsLocal(place) {
			t.Errorf("%q goes to %q", name, place)
		}
	})
}

func TestNewerVersion(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"8.0.12", "8.0.9", true}, {"8.0.9", "8.0.12", false}, {"8.0.0", "8.0.0", false}, {"10.0.0", "9.9.9", true}} {
		if got := newerVersion(c.a, c.b); got != c.want {
			t.Errorf("newerVersion(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

// Two installations at once do the work once; one that fails leaves nothing; one that was killed is removed.
func TestInstallFrame(t *testing.T) {
	home := layout{t.TempDir()}
	killed := home.installing() + "kettle-1"
	if err := os.MkdirAll(filepath.Join(killed, "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	final := home.engine("kettle")
	check := func() (string, error) {
		inst, err := readInstallation(final)
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return inst.Path, err
	}
	broken := errors.New("out of steam")
	err := install(t.Context(), home, "kettle", nil, func(string, *process.LockedWriter) (string, error) {
		return final, broken
	}, check)
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if stale, _ := staleInstallations(home, "kettle"); len(stale) != 0 {
		t.Errorf("left are %v", stale)
	}
	works := make(chan string, 2)
	done := make(chan error)
	for range 2 {
		go func() {
			done <- install(context.Background(), home, "kettle", nil, func(dir string, _ *process.LockedWriter) (string, error) {
				works <- dir
				return final, replace.JSON(installationFile(dir), Installation{Engine: "kettle"}, true)
			}, check)
		}()
	}
	if err := errors.Join(<-done, <-done); err != nil {
		t.Error(err)
	}
	if len(works) != 1 {
		t.Errorf("installed %d times", len(works))
	}
	if inst, err := readInstallation(final); err != nil || inst.Path != final {
		t.Errorf("installation %+v, error %v", inst, err)
	}
}

// An engine is removed with all its releases or one series, but not while one of its programs runs.
func TestRemove(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := layout{home}
	dirs := map[string]string{}
	for _, version := range []string{"7.0.5", "8.0.21"} {
		dir := filepath.Join(l.engine(Mongod), version)
		dirs[version] = dir
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		inst := Installation{Engine: Mongod, Version: version, Path: dir}
		if err := replace.JSON(installationFile(dir), inst, false); err != nil {
			t.Fatal(err)
		}
	}
	if sleep, err := exec.LookPath("sleep"); err != nil || runtime.GOOS != "linux" {
		notrun.Here(t, "an engine in use is known by /proc, and needs a program sleep")
	} else {
		program := filepath.Join(dirs["8.0.21"], "bin", "mongod")
		if err := copyFile(sleep, program); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		removed, err := Remove(home, Mongod, "8.0")
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err == nil || !strings.Contains(err.Error(), "is in use") || len(removed) > 0 {
			t.Errorf("removed %v while it runs: %v", removed, err)
		}
	}
	for _, c := range []struct {
		name, version string
		want          []string
	}{
		{Mongod, "8.0.2", nil},
		{Mongod, "6.0", nil},
		{DocumentDB, "", nil},
		{Mongod, "7.0", []string{dirs["7.0.5"]}},
		{Mongod, "", []string{dirs["8.0.21"]}},
		{Mongod, "", nil},
	} {
		removed, err := Remove(home, c.name, c.version)
		if !slices.Equal(removed, c.want) || errors.Is(err, ErrNotInstalled) != (c.want == nil) {
			t.Errorf("%s %s: removed %v, want %v, error %v", c.name, c.version, removed, c.want, err)
		}
	}
	if left, _ := os.ReadDir(l.engine(Mongod)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
