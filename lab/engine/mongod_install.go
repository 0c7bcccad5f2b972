package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// mongodSite is where MongoDB publishes its server, each archive with its checksum beside it:
// SITE/linux/mongodb-linux-x86_64-debian12-8.0.12.tgz and ….tgz.sha256.
const mongodSite = "https://fastdl.mongodb.org"

// maxArchive bounds what is downloaded; the archives of 2026 have some 100 MB.
const maxArchive = 2 << 30

var releasePattern = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

// Install fetches a release, checks it and unpacks its executables.
func (e *mongod) Install(ctx context.Context, opts InstallOptions, progress func(string)) error {
	if opts.Suite != "" || opts.Gateway != "" {
		return errors.New("suite and gateway are documentdb's; mongod is installed from an archive")
	}
	source, err := mongodSource(opts)
	if err != nil {
		return err
	}
	version := opts.Version
	return install(ctx, e.home, Mongod, progress, func(dir string, _ *process.LockedWriter) (string, error) {
		v, err := installMongod(ctx, source, opts, dir, progress)
		return filepath.Join(e.home.engine(Mongod), v), err
	}, func() (string, error) {
		if version == "" { // known only when it is unpacked
			return "", nil
		}
		inst, err := readInstallation(filepath.Join(e.home.engine(Mongod), version))
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return inst.Path, err
	})
}

// mongodSource is the URL or file of the archive that the options mean.
func mongodSource(opts InstallOptions) (string, error) {
	if opts.Archive != "" {
		if opts.Mirror != "" || opts.Platform != "" {
			return "", errors.New("an archive says all: give no mirror and no platform with it")
		}
		return opts.Archive, nil
	}
	if opts.Version == "" {
		return "", errors.New("which mongod? Give a release, such as --version 8.0.12, or an archive with --archive")
	}
	if !releasePattern.MatchString(opts.Version) {
		return "", fmt.Errorf("%q is not a release: write all three numbers, such as 8.0.12", opts.Version)
	}
	var release string
	if opts.Platform == "" && runtime.GOOS == "linux" {
		text, err := os.ReadFile("/etc/os-release")
		if err != nil {
			return "", fmt.Errorf("cannot tell which Linux this is (choose a build with --platform): %w", err)
		}
		release = string(text)
	}
	folder, name, err := mongodArchive(opts.Version, opts.Platform, runtime.GOOS, runtime.GOARCH, release)
	if err != nil {
		return "", err
	}
	switch {
	case opts.Mirror == "":
		return mongodSite + "/" + folder + "/" + name, nil
	case isURL(opts.Mirror):
		return strings.TrimSuffix(opts.Mirror, "/") + "/" + name, nil
	}
	return filepath.Join(opts.Mirror, name), nil
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// mongodArchive is the folder on MongoDB's site and the name of an archive. release is the text of
// /etc/os-release; platform, if not empty, replaces what is found there.
func mongodArchive(version, platform, goos, goarch, release string) (folder, name string, err error) {
	cpu := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]
	if cpu == "" {
		return "", "", fmt.Errorf("there is no mongod for %s: build one and name it (engine.binary in a specification, --binary of plimsoll lab up)", goarch)
	}
	switch goos {
	case "darwin":
		if goarch == "arm64" {
			cpu = "arm64"
		}
		return "osx", "mongodb-macos-" + cpu + "-" + version + ".tgz", nil
	case "linux":
	default:
		return "", "", fmt.Errorf("there is no mongod archive for %s that Plimsoll can unpack", goos)
	}
	if platform == "" {
		if platform, err = mongodPlatform(release, version, goarch); err != nil {
			return "", "", err
		}
	}
	return "linux", "mongodb-linux-" + cpu + "-" + platform + "-" + version + ".tgz", nil
}

// mongodPlatform is the platform part of an archive's name for a Linux. MongoDB has no build for
// Debian on arm64; Ubuntu's of 2022 runs there, its C library is older than Debian 12's.
func mongodPlatform(release, version, goarch string) (string, error) {
	id, major, ubuntu := osRelease(release)
	switch id {
	case "debian":
		if goarch == "arm64" {
			return "ubuntu2204", nil
		}
		if major != "" {
			return "debian" + major, nil
		}
	case "ubuntu":
		return "ubuntu" + ubuntu, nil
	case "rhel", "centos", "rocky", "almalinux", "ol":
		if p := rhelPlatform(major, version); p != "" {
			return p, nil
		}
	case "amzn":
		return "amazon" + major, nil
	case "sles", "opensuse-leap":
		return "suse" + major, nil
	}
	return "", fmt.Errorf("cannot tell which build of mongod fits this Linux (%s %s): choose one with --platform, such as ubuntu2204", id, major)
}

// rhelPlatform knows how the names for Red Hat's systems changed with release 8 of mongod: the
// minor version of the system is left out (rhel8) or another one (rhel93).
func rhelPlatform(major, version string) string {
	eightOrLater := !newerVersion("8.0.0", version)
	switch {
	case major == "8" && eightOrLater:
		return "rhel8"
	case major == "8":
		return "rhel80"
	case major == "9" && eightOrLater:
		return "rhel93"
	case major == "9":
		return "rhel90"
	}
	return ""
}

// osRelease reads the fields of /etc/os-release that matter here: the system, its major version, and
// both numbers without the point (2204).
func osRelease(text string) (id, major, joined string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "ID":
			id = value
		case "VERSION_ID":
			major, _, _ = strings.Cut(value, ".")
			joined = strings.ReplaceAll(value, ".", "")
		}
	}
	return id, major, joined
}

// installMongod fetches, checks and unpacks an archive into dir, and returns the version it holds.
func installMongod(ctx context.Context, source string, opts InstallOptions, dir string, progress func(string)) (string, error) {
	archive := filepath.Join(dir, "archive.tgz")
	tell(progress, "fetching %s", source)
	sum, err := wantedSum(ctx, source, opts.SHA256)
	if err != nil {
		return "", err
	}
	got, err := fetchFile(ctx, source, archive)
	if err != nil {
		return "", err
	}
	if got != sum {
		return "", fmt.Errorf("the checksum of %s is wrong: it should be %s and is %s; nothing of it was unpacked", source, sum, got)
	}
	tell(progress, "its checksum is right; unpacking")
	if err := unpackServer(archive, dir); err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	if err := os.Remove(archive); err != nil {
		return "", err
	}
	version, err := mongodVersion(ctx, filepath.Join(dir, "bin", "mongod"))
	if err != nil {
		return "", fmt.Errorf("the mongod in the archive does not run here (is it for another system? see --platform): %w", err)
	}
	if opts.Version != "" && version != opts.Version {
		return "", fmt.Errorf("%s holds release %s, not %s", source, version, opts.Version)
	}
	if !releasePattern.MatchString(version) {
		return "", fmt.Errorf("%s calls itself release %q, which is no version", source, version)
	}
	return version, writeJSON(installationFile(dir), Installation{Engine: Mongod, Version: version, Source: source,
		Versions: map[string]string{"sha256": sum}, Installed: time.Now().UTC()})
}

// wantedSum returns the checksum an archive must have: the given one, or the first word of the file
// NAME.sha256 beside the archive.
func wantedSum(ctx context.Context, source, given string) (string, error) {
	sum := given
	if sum == "" {
		r, err := open(ctx, source+".sha256")
		if err != nil {
			return "", fmt.Errorf("there is no checksum to verify the archive with (%w): give it with --sha256", err)
		}
		defer r.Close()
		text, err := io.ReadAll(io.LimitReader(r, 4096))
		if err != nil {
			return "", err
		}
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			sum = fields[0]
		}
	}
	sum = strings.ToLower(sum)
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("%q is not a SHA-256 checksum (64 hexadecimal digits)", sum)
	}
	return sum, nil
}

// fetchFile copies a URL or file to a file and returns its SHA-256 checksum.
func fetchFile(ctx context.Context, source, to string) (string, error) {
	r, err := open(ctx, source)
	if err != nil {
		return "", err
	}
	defer r.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, maxArchive+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("fetching %s broke off after %d bytes: %w", source, n, err)
	}
	if n > maxArchive {
		return "", fmt.Errorf("%s has more than %d bytes, so it is no archive of mongod", source, int64(maxArchive))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// open opens a file, or a URL for reading.
func open(ctx context.Context, source string) (io.ReadCloser, error) {
	if !isURL(source) {
		return os.Open(source)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%s: the server says %s; is there a %s?", source, resp.Status, path.Base(source))
	}
	return resp.Body, nil
}
