package engine

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// The systems that the tests choose builds for.
const (
	debian12 = "ID=debian\nVERSION_ID=\"12\"\n"
	debian11 = "ID=debian\nVERSION_ID=\"11\"\n"
	jammy    = "ID=ubuntu\nVERSION_ID=\"22.04\"\n"
	noble    = "ID=ubuntu\nVERSION_ID=\"24.04\"\n"
	rocky8   = "ID=\"rocky\"\nVERSION_ID=\"8.9\"\n"
	rhel9    = "ID=\"rhel\"\nVERSION_ID=\"9.4\"\n"
)

// Without the feed the names of archives come from the table.
func TestMongodArchiveNames(t *testing.T) {
	for _, c := range []struct{ version, goos, goarch, release, want string }{
		{"8.0.12", "linux", "amd64", debian12, "linux/mongodb-linux-x86_64-debian12-8.0.12.tgz"},
		{"7.0.5", "linux", "amd64", debian12, "linux/mongodb-linux-x86_64-debian12-7.0.5.tgz"},
		{"7.0.4", "linux", "amd64", debian12, "linux/mongodb-linux-x86_64-ubuntu2204-7.0.4.tgz"},
		{"6.0.25", "linux", "amd64", debian12, "linux/mongodb-linux-x86_64-ubuntu2204-6.0.25.tgz"},
		{"5.0.31", "linux", "amd64", debian12, ""},
		{"4.4.29", "linux", "amd64", debian12, ""},
		{"5.0.31", "linux", "amd64", debian11, "linux/mongodb-linux-x86_64-debian11-5.0.31.tgz"},
		{"4.4.29", "linux", "amd64", debian11, "linux/mongodb-linux-x86_64-debian10-4.4.29.tgz"},
		{"8.0.12", "linux", "arm64", debian12, "linux/mongodb-linux-aarch64-ubuntu2204-8.0.12.tgz"},
		{"7.0.1", "linux", "arm64", jammy, "linux/mongodb-linux-aarch64-ubuntu2204-7.0.1.tgz"},
		{"8.0.12", "linux", "amd64", noble, "linux/mongodb-linux-x86_64-ubuntu2404-8.0.12.tgz"},
		{"7.0.12", "linux", "amd64", noble, "linux/mongodb-linux-x86_64-ubuntu2204-7.0.12.tgz"},
		{"8.0.12", "linux", "amd64", rhel9, "linux/mongodb-linux-x86_64-rhel93-8.0.12.tgz"},
		{"7.0.1", "linux", "amd64", rhel9, "linux/mongodb-linux-x86_64-rhel90-7.0.1.tgz"},
		{"7.0.13", "linux", "amd64", rocky8, "linux/mongodb-linux-x86_64-rhel80-7.0.13.tgz"},
		{"7.0.14", "linux", "amd64", rocky8, "linux/mongodb-linux-x86_64-rhel8-7.0.14.tgz"},
		{"6.0.16", "linux", "arm64", rocky8, "linux/mongodb-linux-aarch64-rhel82-6.0.16.tgz"},
		{"6.0.17", "linux", "arm64", rocky8, "linux/mongodb-linux-aarch64-rhel8-6.0.17.tgz"},
		{"5.0.28", "linux", "amd64", rocky8, "linux/mongodb-linux-x86_64-rhel80-5.0.28.tgz"},
		{"5.0.29", "linux", "amd64", rocky8, "linux/mongodb-linux-x86_64-rhel8-5.0.29.tgz"},
		{"8.0.12", "linux", "amd64", "ID=\"amzn\"\nVERSION_ID=\"2023\"\n", "linux/mongodb-linux-x86_64-amazon2023-8.0.12.tgz"},
		{"8.0.12", "linux", "amd64", "ID=gentoo\n", ""},
		{"8.0.12", "linux", "riscv64", debian12, ""},
		{"8.0.12", "darwin", "arm64", "", "osx/mongodb-macos-arm64-8.0.12.tgz"},
	} {
		got, folder, name := "", "", ""
		m, err := describeMachine(c.goos, c.goarch, c.release, "")
		if err == nil {
			folder, name, err = m.chooseFromTable(c.version)
		}
		if err == nil {
			got = folder + "/" + name
		}
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s on %s %s %q: %q, error %v, want %q", c.version, c.goos, c.goarch, c.release, got, err, c.want)
		}
	}
}

// feedText is a feed in the form of MongoDB's, with what Plimsoll has to step over: other editions, other processors,
// release candidates, sources, fields it does not know.
func feedText(site, sum string) string {
	download := func(target, arch, edition, version string) string {
		return fmt.Sprintf(`{"arch":%q,"archive":{"debug_symbols":"x","sha1":"y","sha256":%q,"url":"%s/linux/mongodb-linux-%s-%s-%s.tgz"},"edition":%q,"packages":[],"target":%q}`,
			arch, sum, site, arch, target, version, edition, target)
	}
	release := func(version string, production bool, downloads ...string) string {
		return fmt.Sprintf(`{"changes":"c","date":"11/23/2026","development_release":false,"githash":"0","notes":"n","production_release":%v,"release_candidate":%v,"version":%q,"downloads":[%s]}`,
			production, !production, version, strings.Join(downloads, ","))
	}
	return `{"versions":[` + strings.Join([]string{
		release("8.2.1", true, download("debian12", "x86_64", "targeted", "8.2.1")),
		release("8.0.22-rc0", false, download("debian12", "x86_64", "targeted", "8.0.22-rc0")),
		release("8.0.9", true, download("debian12", "x86_64", "targeted", "8.0.9")),
		release("8.0.21", true, download("debian12", "x86_64", "enterprise", "8.0.21"), download("ubuntu2204", "x86_64", "targeted", "8.0.21"),
			download("debian12", "x86_64", "targeted", "8.0.21"), download("ubuntu2204", "aarch64", "targeted", "8.0.21"),
			`{"edition":"source","archive":{"url":"`+site+`/src.tar.gz","sha256":"`+sum+`"}}`),
		release("8.0.22", true, download("windows", "x86_64", "base", "8.0.22")),
		release("6.0.27", true, download("ubuntu2204", "x86_64", "targeted", "6.0.27"), download("debian11", "x86_64", "targeted", "6.0.27")),
		release("5.0.31", true, download("debian11", "x86_64", "targeted", "5.0.31"), download("ubuntu2004", "x86_64", "targeted", "5.0.31")),
	}, ",") + `]}`
}

func TestChooseFromFeed(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	feed := feedText("https://site.example", sum)
	for _, c := range []struct{ version, goarch, release, platform, want string }{
		{"", "amd64", debian12, "", "linux-x86_64-debian12-8.0.21.tgz"},
		{"8.0", "amd64", jammy, "", "linux-x86_64-ubuntu2204-8.0.21.tgz"},
		{"8.0", "arm64", debian12, "", "linux-aarch64-ubuntu2204-8.0.21.tgz"},
		{"8.0.9", "amd64", debian12, "", "linux-x86_64-debian12-8.0.9.tgz"},
		{"8.0.22-rc0", "amd64", debian12, "", "linux-x86_64-debian12-8.0.22-rc0.tgz"},
		{"6.0", "amd64", debian12, "", "linux-x86_64-ubuntu2204-6.0.27.tgz"},
		{"8.0", "amd64", debian12, "ubuntu2204", "linux-x86_64-ubuntu2204-8.0.21.tgz"},
		{"5.0", "amd64", debian12, "", "!there is no build: release 5.0 of mongod has none that runs on debian 12"},
		{"5.0", "amd64", debian12, "debian11", "linux-x86_64-debian11-5.0.31.tgz"},
		{"8.0", "amd64", debian12, "suse15", "!no archive for the platform suse15"},
		{"8.4", "amd64", debian12, "", "!has no release 8.4"},
	} {
		q, err := parseMongodRequest(c.version)
		if err != nil {
			t.Fatal(err)
		}
		m, err := describeMachine("linux", c.goarch, c.release, c.platform)
		if err != nil {
			t.Fatal(err)
		}
		got, err := chooseFromFeed(strings.NewReader(feed), q, m)
		if refusal, refused := strings.CutPrefix(c.want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), refusal) {
				t.Errorf("%s for %s: %+v, error %v, want one with %q", c.version, m.name, got, err, refusal)
			}
			continue
		}
		if err != nil || got.source != "https://site.example/linux/mongodb-"+c.want || got.sum != sum {
			t.Errorf("%s for %s: %+v, error %v, want %s", c.version, m.name, got, err, c.want)
		}
	}
}

func FuzzReadFeed(f *testing.F) {
	f.Add(feedText("https://site.example", strings.Repeat("ab", 32)))
	for _, text := range []string{"", "{", "[]", "{}", `{"versions":1}`, `{"versions":[{}]}`, `{"versions":[{"version":"8.0.1","production_release":true,"downloads":[{"target":"debian12","arch":"x86_64","edition":"targeted"}]}]}`,
		`{"versions":[null]}`, `{"versions":[],"versions":[{"version":3}]}`, "<html>", `{"a":[[[[`} {
		f.Add(text)
	}
	m, err := describeMachine("linux", "amd64", debian12, "")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := chooseFromFeed(strings.NewReader(text), mongodRequest{series: "8.0"}, m)
		if err != nil {
			return
		}
		if !strings.HasPrefix(c.version, "8.0.") || !isURL(c.source) || !isSum(c.sum) {
			t.Errorf("chosen is %+v", c)
		}
	})
}

// fakeSite serves a feed and an archive of 8.0.21 for every platform that this machine may take.
func fakeSite(t *testing.T, change func(archive []byte) []byte) *httptest.Server {
	t.Helper()
	archive := makeArchive(t, serverArchive("8.0.21"))
	sum := sumOf(archive)
	if change != nil {
		archive = change(archive)
	}
	var site *httptest.Server
	signature, key := release().sign(t, archive, packet.Config{}), release().public(t)
	site = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "-8.0.21.tgz.sig"):
			_, _ = w.Write(signature)
		case r.URL.Path == "/server-8.0.asc":
			_, _ = w.Write(key)
		case r.URL.Path == "/full.json":
			_, _ = fmt.Fprint(w, feedText(site.URL, sum))
		case strings.HasSuffix(r.URL.Path, "-8.0.21.tgz"):
			w.Header().Set("Content-Length", fmt.Sprint(len(archive)))
			_, _ = w.Write(archive)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	return site
}

func TestInstallFromFeed(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		notrun.Here(t, "the feed of the test has archives for amd64")
		return
	}
	site := fakeSite(t, nil)
	home := layout{t.TempDir()}
	e := &mongod{home, fetcher{client: site.Client(), keys: pinned(release()), site: site.URL}}
	var told []string
	var parts []wait.Part
	opts := InstallOptions{Feed: site.URL + "/full.json", Platform: "debian12"}
	listening := wait.Listen(t.Context(), wait.Listener{Part: func(p wait.Part) { parts = append(parts, p) }})
	if err := e.Install(listening, opts, func(line string) { told = append(told, line) }); err != nil {
		t.Fatal(err)
	}
	if inst, err := e.Installed(t.Context()); err != nil || inst.Version != "8.0.21" || !strings.HasSuffix(inst.Source, "debian12-8.0.21.tgz") {
		t.Errorf("installed %+v, error %v; told %q", inst, err, told)
	}
	if n := len(parts); n == 0 || parts[n-1].Done != parts[n-1].Total || parts[n-1].Total == 0 || !parts[n-1].Bytes ||
		parts[0].Name != "release feed" || parts[n-1].Name != "download" {
		t.Errorf("the download told %+v", parts)
	}
	site.Close()
	// What is installed already needs no feed.
	told = nil
	for _, version := range []string{"8.0.21", "8.0"} {
		opts.Version = version
		if err := e.Install(t.Context(), opts, func(line string) { told = append(told, line) }); err != nil {
			t.Errorf("%s again: %v", version, err)
		}
	}
	if text := strings.Join(told, "\n"); strings.Count(text, "is already installed") != 2 || !strings.Contains(text, "keeping the installed release 8.0.21 of the series 8.0") {
		t.Errorf("told:\n%s", text)
	}
	// The feed's checksums hold for the archives of a mirror as well.
	other := filepath.Join(t.TempDir(), "mongodb-linux-x86_64-debian12-8.0.21.tgz")
	if err := os.WriteFile(other, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	feed := filepath.Join(t.TempDir(), "full.json")
	if err := os.WriteFile(feed, []byte(feedText("https://site.example", strings.Repeat("ab", 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	home = layout{t.TempDir()}
	err := (&mongod{home: home}).Install(t.Context(), InstallOptions{Feed: feed, Mirror: filepath.Dir(other),
		Platform: "debian12"}, nil)
	if err == nil || !strings.Contains(err.Error(), "checksum of "+other) {
		t.Errorf("an archive of a mirror that is not the feed's: error %v", err)
	}
	checkNothingLeft(t, home)
}

func TestInstallFromFeedRefuses(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		notrun.Here(t, "the feed of the test has archives for amd64")
		return
	}
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		opts   InstallOptions
		want   string
	}{
		{"another archive", func(a []byte) []byte { return append(a, 0) }, InstallOptions{}, "the checksum of"},
		{"half an archive", func(a []byte) []byte { return a[:len(a)/2] }, InstallOptions{}, "the checksum of"},
		{"another release", nil, InstallOptions{Version: "4.2"}, "has no release 4.2"},
		{"no build", nil, InstallOptions{Platform: "suse15"}, "there is no build"},
		{"no feed", nil, InstallOptions{Feed: "/nowhere/full.json"}, "Without a network: download an archive for the platform debian12"},
		{"no release number", nil, InstallOptions{Version: "eight"}, "is not a release"},
		{"archive and feed", nil, InstallOptions{Archive: "/x.tgz"}, "mirror, feed or platform"},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := fakeSite(t, c.change)
			if c.opts.Feed == "" {
				c.opts.Feed = site.URL + "/full.json"
			}
			if c.opts.Platform == "" {
				c.opts.Platform = "debian12"
			}
			home := layout{t.TempDir()}
			err := (&mongod{home, fetcher{client: site.Client(), keys: pinned(release()), site: site.URL}}).Install(t.Context(),
				c.opts, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			checkNothingLeft(t, home)
		})
	}
	// An archive that ends before its length is an error of the transfer.
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("some"))
	}))
	defer site.Close()
	home := layout{t.TempDir()}
	err := (&mongod{home: home}).Install(t.Context(),
		InstallOptions{Archive: site.URL + "/x.tgz", SHA256: strings.Repeat("0", 64)}, nil)
	if err == nil || !strings.Contains(err.Error(), "failed after 4 bytes") {
		t.Errorf("a transfer that broke off: error %v", err)
	}
	checkNothingLeft(t, home)
}

// A directory with archives needs no feed: the newest of the series that runs here is taken.
func TestInstallFromDirectory(t *testing.T) {
	m, err := describeMachine("linux", "amd64", debian12, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"mongodb-linux-x86_64-debian12-8.0.9.tgz", "mongodb-linux-x86_64-ubuntu2204-8.0.12.tgz", "mongodb-linux-x86_64-debian12-8.0.12.tgz",
		"mongodb-linux-x86_64-suse15-8.0.13.tgz", "mongodb-linux-x86_64-debian12-8.0.13.tgz.sha256", "mongodb-linux-aarch64-ubuntu2204-8.0.14.tgz",
		"mongodb-linux-x86_64-ubuntu2204-6.0.25.tgz", "mongodb-linux-x86_64-debian12-8.0.15-rc1.tgz"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, version := range []string{"", "8.0", "8.0.9", "6.0", "7.0"} {
		q, err := parseMongodRequest(version)
		if err != nil {
			t.Fatal(err)
		}
		c, err := chooseFromDir(dir, q, m)
		got[version] = filepath.Base(c.source)
		if err != nil {
			got[version] = "refused"
		}
	}
	want := map[string]string{"": "mongodb-linux-x86_64-debian12-8.0.12.tgz", "8.0": "mongodb-linux-x86_64-debian12-8.0.12.tgz",
		"8.0.9": "mongodb-linux-x86_64-debian12-8.0.9.tgz", "6.0": "mongodb-linux-x86_64-ubuntu2204-6.0.25.tgz", "7.0": "refused"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archives (-want +got):\n%s", diff)
	}
	if _, err := chooseFromDir(filepath.Join(dir, "none"), mongodRequest{series: "8.0"}, m); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}
