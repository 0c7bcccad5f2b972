package engine

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // to be refused
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// signer makes keys as MongoDB has them (RSA, signing), and signatures.
type signer struct{ *openpgp.Entity }

// newSigner makes a key that was made at a time and is valid for some seconds, 0 for ever.
func newSigner(made time.Time, valid uint32) signer {
	e, err := openpgp.NewEntity("Test Release Signing Key", "", "packaging@test.example",
		&packet.Config{RSABits: 2048, DefaultHash: crypto.SHA256, KeyLifetimeSecs: valid, Time: func() time.Time {
			return made
		}})
	if err != nil {
		panic(err)
	}
	return signer{e}
}

// release and stranger are the keys of the tests: one that is pinned for release 8, and another one.
var (
	release  = sync.OnceValue(func() signer { return newSigner(time.Now().Add(-time.Hour), 0) })
	stranger = sync.OnceValue(func() signer { return newSigner(time.Now().Add(-time.Hour), 0) })
)

func (s signer) public(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err := errors.Join(err, s.Serialize(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (s signer) sign(t *testing.T, data []byte, c packet.Config) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := openpgp.DetachSign(&b, s.Entity, bytes.NewReader(data), &c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pinned(s signer) []releaseKey {
	return []releaseKey{{"8", fingerprint(s.Entity), "server-8.0.asc"}}
}

// testArchive is a name of an archive with its content; its mongod leaves a mark when it is executed.
type testSite map[string][]byte

// newTestSite has a signed archive of 8.0.12 and the key.
func newTestSite(t *testing.T, archive []byte) testSite {
	t.Helper()
	return testSite{archiveName: archive, archiveName + ".sig": release().sign(t, archive, packet.Config{}),
		"server-8.0.asc": release().public(t)}
}

// ServeHTTP also redirects: /to-https/NAME and /to-http/NAME lead to NAME at the site that is named in the query.
func (s testSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if to := r.URL.Query().Get("to"); to != "" {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	content, ok := s[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content) // the client may be gone
}

// dir writes the site into a directory.
func (s testSite) dir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range s {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// marking is an archive whose mongod makes a file when it is executed.
func marking(t *testing.T) (archive []byte, executed func() bool) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // nobody has to write there
		t.Fatal(err)
	}
	for p := dir; p != os.TempDir() && len(p) > 1; p = filepath.Dir(p) {
		_ = os.Chmod(p, 0o777) // those of the test
	}
	mark := filepath.Join(dir, "executed")
	text := "#!/bin/sh\ntouch " + mark + "\necho 'db version v8.0.12'\n"
	archive = makeArchive(t, []member{{name: "m/bin/mongod", text: text}})
	return archive, func() bool { _, err := os.Stat(mark); return err == nil }
}

func TestSignedArchive(t *testing.T) {
	for name, c := range map[string]struct {
		opts   func(url, dir string) InstallOptions
		change func(testSite)
	}{
		"by URL, with MongoDB's key": {func(url, _ string) InstallOptions { return InstallOptions{Archive: url + "/" + archiveName} }, nil},
		"a mirror": {func(url, _ string) InstallOptions {
			return InstallOptions{Mirror: url, Version: "8.0.12", Platform: "debian12"}
		}, nil},
		"a file, the key beside it": {func(_, dir string) InstallOptions { return InstallOptions{Archive: filepath.Join(dir, archiveName)} }, nil},
		"a directory":               {func(_, dir string) InstallOptions { return InstallOptions{Mirror: dir, Platform: "debian12"} }, nil},
		"a key of the user": {func(url, dir string) InstallOptions {
			return InstallOptions{Archive: url + "/" + archiveName, Key: filepath.Join(dir, "mine.asc")}
		}, func(s testSite) {
			s["mine.asc"], s[archiveName+".sig"] = stranger().public(t), stranger().sign(t, s[archiveName], packet.Config{})
			delete(s, "server-8.0.asc")
		}},
		"a signature in text form": {func(url, _ string) InstallOptions { return InstallOptions{Archive: url + "/" + archiveName} }, func(s testSite) {
			var b bytes.Buffer
			if err := openpgp.ArmoredDetachSign(&b, release().Entity, bytes.NewReader(s[archiveName]), nil); err != nil {
				t.Fatal(err)
			}
			s[archiveName+".sig"] = b.Bytes()
		}},
		"a name that says no release": {func(url, _ string) InstallOptions { return InstallOptions{Archive: url + "/x.tgz", Version: "8.0.12"} }, func(s testSite) {
			s["x.tgz"], s["x.tgz.sig"] = s[archiveName], s[archiveName+".sig"]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			archive, executed := marking(t)
			s := newTestSite(t, archive)
			if c.change != nil {
				c.change(s)
			}
			server := httptest.NewTLSServer(s)
			defer server.Close()
			e := &mongod{layout{t.TempDir()}, fetcher{client: server.Client(), keys: pinned(release()), site: server.URL}}
			if err := e.Install(t.Context(), c.opts(server.URL, s.dir(t)), nil); err != nil {
				t.Fatal(err)
			}
			if !executed() {
				t.Error("nobody asked the mongod for its version")
			}
			inst, err := e.Installed(t.Context())
			if err != nil || inst.Version != "8.0.12" || !strings.Contains(inst.Versions["verified"], "signed by") {
				t.Errorf("installed %+v, %v", inst, err)
			}
		})
	}
}

// Whatever is not verified is neither unpacked nor executed, and nothing is left of it.
func TestUnverifiedArchive(t *testing.T) {
	expired := newSigner(time.Now().Add(-48*time.Hour), 3600)
	for name, c := range map[string]struct {
		change func(s testSite)
		keys   []releaseKey
		opts   InstallOptions
		want   string
	}{
		"no signature": {func(s testSite) { delete(s, archiveName+".sig") }, nil, InstallOptions{}, "cannot read the signature"},
		"a stranger's signature": {func(s testSite) {
			s[archiveName+".sig"] = stranger().sign(t, s[archiveName],
				packet.Config{})
		}, nil, InstallOptions{}, "not signed by MongoDB's key"},
		"a stranger's key": {func(s testSite) { s["server-8.0.asc"] = stranger().public(t) }, nil, InstallOptions{}, "does not have MongoDB's key"},
		"both of a stranger": {func(s testSite) {
			s["server-8.0.asc"], s[archiveName+".sig"] = stranger().public(t), stranger().sign(t, s[archiveName], packet.Config{})
		}, nil, InstallOptions{}, "does not have MongoDB's key"},
		"another archive's": {func(s testSite) {
			s[archiveName+".sig"] = release().sign(t, []byte("other"),
				packet.Config{})
		}, nil, InstallOptions{}, "is not valid"},
		"a changed archive":     {func(s testSite) { s[archiveName] = append(s[archiveName], 0) }, nil, InstallOptions{}, "is not valid"},
		"half a signature":      {func(s testSite) { s[archiveName+".sig"] = s[archiveName+".sig"][:20] }, nil, InstallOptions{}, "is not valid"},
		"an empty signature":    {func(s testSite) { s[archiveName+".sig"] = nil }, nil, InstallOptions{}, "not signed by"},
		"a page as a signature": {func(s testSite) { s[archiveName+".sig"] = []byte("<html>") }, nil, InstallOptions{}, "is not valid"},
		"a page as a key":       {func(s testSite) { s["server-8.0.asc"] = []byte("<html>") }, nil, InstallOptions{}, "has no OpenPGP key"},
		"no key":                {func(s testSite) { delete(s, "server-8.0.asc") }, nil, InstallOptions{}, "cannot read the key"},
		"a weak hash":           {func(s testSite) { s[archiveName+".sig"] = weak(t, s[archiveName]) }, nil, InstallOptions{}, "SHA-1"},
		"a signature of text":   {func(s testSite) { s[archiveName+".sig"] = ofText(t, s[archiveName]) }, nil, InstallOptions{}, "is not valid"},
		"a key that has expired": {func(s testSite) {
			s["server-8.0.asc"] = expired.public(t)
			s[archiveName+".sig"] = expired.sign(t, s[archiveName],
				packet.Config{Time: func() time.Time { return time.Now().Add(-47*time.Hour - 30*time.Minute) }})
		}, pinned(expired), InstallOptions{}, "expired on " + time.Now().UTC().Add(-47*time.Hour).Format(time.DateOnly)},
		"a release without a key": {nil, []releaseKey{{"7", fingerprint(release().Entity), "server-8.0.asc"}}, InstallOptions{}, "does not know the key of release 8.0.12"},
		"no release": {func(s testSite) { s["x.tgz"], s["x.tgz.sig"] = s[archiveName], s[archiveName+".sig"] },
			nil, InstallOptions{Archive: "x.tgz"}, "give --version, or the key with --key"},
		"a key that is not there": {nil, nil, InstallOptions{Key: "/nowhere.asc"}, "cannot read the key"},
		"another checksum":        {nil, nil, InstallOptions{SHA256: strings.Repeat("0", 64)}, "the checksum of"},
		"no checksum":             {nil, nil, InstallOptions{SHA256: "abc"}, "not a SHA-256 checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			archive, executed := marking(t)
			s := newTestSite(t, archive)
			if c.change != nil {
				c.change(s)
			}
			server := httptest.NewTLSServer(s)
			defer server.Close()
			if c.keys == nil {
				c.keys = pinned(release())
			}
			if c.opts.Archive == "" {
				c.opts.Archive = archiveName
			}
			c.opts.Archive = server.URL + "/" + c.opts.Archive
			home := layout{t.TempDir()}
			err := (&mongod{home, fetcher{client: server.Client(), keys: c.keys, site: server.URL}}).Install(t.Context(), c.opts,
				nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if executed() {
				t.Error("what was not verified was executed")
			}
			checkNothingLeft(t, home)
		})
	}
}

// weak is a signature over SHA-1, of which somebody can make two archives. The library makes none, so it is put
// together here (RFC 4880, 5.2.3).
func weak(t *testing.T, data []byte) []byte {
	t.Helper()
	key := release().PrivateKey
	hashed := []byte{4, byte(packet.SigTypeBinary), byte(key.PubKeyAlgo), 2, 0, 6, 5, 2}
	hashed = binary.BigEndian.AppendUint32(hashed, uint32(time.Now().Unix()))
	trailer := binary.BigEndian.AppendUint32([]byte{4, 0xff}, uint32(len(hashed)))
	sum := sha1.Sum(slices.Concat(data, hashed, trailer)) //nolint:gosec // that is the point
	signed, err := rsa.SignPKCS1v15(rand.Reader, key.PrivateKey.(*rsa.PrivateKey), crypto.SHA1, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	body := binary.BigEndian.AppendUint64(append(hashed, 0, 10, 9, 16), key.KeyId)
	body = binary.BigEndian.AppendUint16(append(body, sum[0], sum[1]), uint16(8*len(signed)))
	body = append(body, signed...)
	return append(binary.BigEndian.AppendUint16([]byte{0x89}, uint16(len(body))), body...)
}

func ofText(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := openpgp.DetachSignText(&b, release().Entity, bytes.NewReader(data), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What can be read and changed on the way is fetched only where its checksum is known.
func TestPlainHTTP(t *testing.T) {
	archive, executed := marking(t)
	s := newTestSite(t, archive)
	s["full.json"] = []byte(feedText("http://site.example", sumOf(archive)))
	secure, plain := httptest.NewTLSServer(s), httptest.NewServer(s)
	defer secure.Close()
	defer plain.Close()
	down := secure.URL + "/" + archiveName + "?to=" + plain.URL + "/" + archiveName
	for name, c := range map[string]struct {
		opts InstallOptions
		want string // "" where it is installed
	}{
		"an archive":                       {InstallOptions{Archive: plain.URL + "/" + archiveName}, "use https"},
		"a mirror":                         {InstallOptions{Mirror: plain.URL, Version: "8.0.12", Platform: "debian12"}, "use https"},
		"a feed":                           {InstallOptions{Feed: plain.URL + "/full.json", Version: "8.0.12", Platform: "debian12"}, "use https"},
		"a redirection":                    {InstallOptions{Archive: down, Version: "8.0.12"}, "redirect to http://"},
		"a redirection, with the checksum": {InstallOptions{Archive: down, Version: "8.0.12", SHA256: sumOf(archive)}, "redirect to http://"},
		"with the checksum": {InstallOptions{Archive: plain.URL + "/" + archiveName,
			SHA256: strings.ToUpper(sumOf(archive))}, ""},
		"upwards": {InstallOptions{Archive: plain.URL + "/x.tgz?to=" + secure.URL + "/" +
			archiveName, SHA256: sumOf(archive)}, ""},
	} {
		home := layout{t.TempDir()}
		err := (&mongod{home, fetcher{client: secure.Client(), keys: pinned(release()), site: secure.URL}}).Install(
			t.Context(), c.opts, nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "--sha256") || strings.Contains(err.Error(), "Without a network")):
			t.Errorf("%s: error %v, want one with %q and --sha256", name, err, c.want)
		case c.want != "":
			checkNothingLeft(t, home)
		}
	}
	if !executed() {
		t.Error("nothing was installed")
	}
}

// What was downloaded says its version without the rights of root, and without the environment of this program.
func TestDownloadedVersionHasNoRights(t *testing.T) {
	t.Setenv("PLIMSOLL_TEST_SECRET", "secret")
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mongod")
	script := "#!/bin/sh\necho \"db version v8.0.$(id -u)$PLIMSOLL_TEST_SECRET\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	want := fmt.Sprintf("8.0.%d", os.Geteuid())
	if os.Geteuid() == 0 {
		want = "8.0.65534"
	}
	if got, err := downloadedVersion(t.Context(), path); err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// A release with all its numbers is looked for by its name where there is no feed; without a network the answer says
// how to go on.
func TestExactReleaseWithoutNetwork(t *testing.T) {
	server := httptest.NewTLSServer(testSite{})
	client, url := server.Client(), server.URL
	server.Close()
	home := layout{t.TempDir()}
	err := (&mongod{home, fetcher{client: client}}).Install(t.Context(),
		InstallOptions{Version: "8.0.12", Platform: "debian12", Mirror: url}, nil)
	for _, want := range []string{"connection refused", "Without a network: ", "NAME.tgz.sig", "https://pgp.mongodb.com/server-8.0.asc", "plimsoll engine install mongod --archive FILE"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	checkNothingLeft(t, home)
}

// The keys are written by hand: each is a fingerprint of 160 bits, and the releases that labs know have one.
func TestReleaseKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range releaseKeys {
		if len(k.fingerprint) != 40 || strings.Trim(k.fingerprint, "0123456789ABCDEF") != "" || seen[k.fingerprint] {
			t.Errorf("the fingerprint of %s is %q", k.releases, k.fingerprint)
		}
		seen[k.fingerprint] = true
	}
	for version, want := range map[string]string{"4.2.1": "", "4.4.0": "4.4", "5.0.31": "5", "6.0": "6", "7.0.5": "7",
		"8.0.12": "8", "8.2.1": "8", "8.0.22-rc0": "8", "9.0.1": "9", "80.0.0": "", "10.0.0": ""} {
		if k, ok := keyOf(releaseKeys, version); ok != (want != "") || k.releases != want {
			t.Errorf("%s is signed by the key for %q, want %q", version, k.releases, want)
		}
	}
}
