package remote

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// addresses are one store of each kind: a directory, an S3 server and a registry, both in this process.
func addresses(t *testing.T) map[string]string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("records"); err != nil {
		t.Fatal(err)
	}
	bucket := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(bucket.Close)
	images := httptest.NewServer(registry.New())
	t.Cleanup(images.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	return map[string]string{
		"directory": filepath.Join(t.TempDir(), "store"),
		"s3":        "s3://records/nightly?insecure=true&region=us-east-1&endpoint=" + host(bucket),
		"oci":       "oci://" + host(images) + "/team/records?insecure=true",
	}
}

func TestStores(t *testing.T) {
	for kind, address := range addresses(t) {
		t.Run(kind, func(t *testing.T) {
			s, err := Open(address)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if p, err := Pull(t.Context(), s, "main", dir, 10); len(p.Names) != 0 || err != nil {
				t.Fatalf("an empty store has %+v, error %v", p, err)
			}
			from := t.TempDir()
			write(t, from, "run.json", "{}")
			write(t, from, "trials/001/run.json", strings.Repeat("x", 100_000))
			sealed(t, from, "run.json")
			sealed(t, filepath.Join(from, "trials/001"), "run.json")
			for line, id := range map[Line]string{Branch("main"): "20261101T120000Z", Branch("fix/it"): "20261102T120000Z",
				Branch("main+"): "20261104T120000Z", Change(7): "20261105T120000Z"} {
				if err := Push(t.Context(), s, line, id, from); err != nil {
					t.Fatal(err)
				}
			}
			if err := Push(t.Context(), s, Branch("main"), "20261103T120000Z", from); err != nil {
				t.Fatal(err)
			}
			if p, err := Pull(t.Context(), s, "main", dir, 1); p.New != 1 || err != nil {
				t.Fatalf("got %+v, error %v; want the newest", p, err)
			}
			if p, err := Pull(t.Context(), s, "fix/it", dir, 10); p.New != 1 || err != nil {
				t.Fatalf("got %+v of the other branch, error %v", p, err)
			}
			if p, err := Pull(t.Context(), s, "main", dir, 1); p.New != 0 || len(p.Names) != 1 || err != nil {
				t.Fatalf("got %+v again, error %v", p, err)
			}
			entries, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			want := []string{filepath.Join(dir, "branch.fix_2fit.20261102T120000Z"), filepath.Join(dir, "branch.main.20261103T120000Z")}
			if diff := cmp.Diff(want, entries); diff != "" {
				t.Error(diff)
			}
			for _, name := range []string{"run.json", "trials/001/run.json"} {
				got, err := os.ReadFile(filepath.Join(want[1], name))
				original, err2 := os.ReadFile(filepath.Join(from, name))
				if err != nil || err2 != nil || !bytes.Equal(got, original) {
					t.Errorf("%s changed (%v, %v)", name, err, err2)
				}
			}
		})
	}
}

// sealed writes the checksums of a record. Nobody compares them here.
func sealed(t *testing.T, dir string, names ...string) {
	t.Helper()
	text := ""
	for _, name := range names {
		text += strings.Repeat("0", 64) + "  " + name + "\n"
	}
	write(t, dir, sumsFile, text)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A record that is not there yet, a wrong address, and an archive of which a name leaves the directory.
func TestRefusedStores(t *testing.T) {
	for _, address := range []string{"ftp://host/x", "s3:///prefix", "oci://UPPER/Case//"} {
		if _, err := Open(address); err == nil {
			t.Errorf("%s is a store", address)
		}
	}
}
