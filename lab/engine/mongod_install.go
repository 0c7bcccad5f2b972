package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// mongodSite has MongoDB's archives and their signatures: SITE/linux/mongodb-linux-x86_64-debian12-8.0.12.tgz and
// ….tgz.sig.
const mongodSite = "https://fastdl.mongodb.org"

var releasePattern = expression.New(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

// Install finds a release, downloads and verifies it, and unpacks its executables.
func (e *mongod) Install(ctx context.Context, opts InstallOptions, progress func(string)) error {
	if opts.Suite != "" || opts.Gateway != "" {
		return errors.New("suite and gateway are options of documentdb; mongod is installed from an archive")
	}
	if err := e.home.check(); err != nil {
		return err
	}
	c, err := e.find(ctx, opts, progress)
	if err != nil {
		return err
	}
	c.key = opts.Key
	if opts.SHA256 != "" {
		if !isSum(opts.SHA256) {
			return fmt.Errorf("%q is not a SHA-256 checksum (64 hexadecimal digits)", opts.SHA256)
		}
		c.sum, c.given = strings.ToLower(opts.SHA256), true
	}
	return install(ctx, e.home, Mongod, progress, func(dir string, _ *process.LockedWriter) (string, error) {
		v, err := e.installMongod(ctx, c, dir, progress)
		return filepath.Join(e.home.engine(Mongod), v), c.advise(err)
	}, func() (string, error) {
		if c.version == "" { // known only after unpacking
			return "", nil
		}
		inst, err := readInstallation(filepath.Join(e.home.engine(Mongod), c.version))
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return inst.Path, err
	})
}

// find chooses the archive: the one that the user named, or the feed's for the release and this machine. If the feed
// cannot be read, it finds a release with all three numbers by the table of platforms, and keeps an installed release
// of a series.
func (e *mongod) find(ctx context.Context, opts InstallOptions, progress func(string)) (choice, error) {
	if opts.Archive != "" {
		if opts.Mirror != "" || opts.Platform != "" || opts.Feed != "" {
			return choice{}, errors.New("archive cannot be combined with mirror, feed or platform")
		}
		if opts.Version != "" && !releasePattern().MatchString(opts.Version) {
			return choice{}, fmt.Errorf("%q is not a release: with an archive use all three numbers, such as 8.0.21", opts.Version)
		}
		return choice{version: cmp.Or(opts.Version, versionOfName(opts.Archive)), source: opts.Archive}, nil
	}
	q, err := parseMongodRequest(opts.Version)
	if err != nil {
		return choice{}, err
	}
	if inst, err := readInstallation(filepath.Join(e.home.engine(Mongod), q.release)); q.release != "" && err == nil {
		return choice{version: inst.Version}, nil // it is installed
	}
	m, err := thisMachine(opts.Platform)
	if err != nil {
		return choice{}, err
	}
	c, err := e.findRelease(ctx, opts, q, m, progress)
	c.machine = &m
	return c, err
}

// findRelease finds the archive of a release in a local mirror, in the feed, or by the table.
func (e *mongod) findRelease(ctx context.Context, opts InstallOptions, q mongodRequest, m machine,
	progress func(string)) (choice, error) {
	if opts.Mirror != "" && !isURL(opts.Mirror) && opts.Feed == "" {
		return chooseFromDir(opts.Mirror, q, m)
	}
	if opts.Mirror != "" && opts.Feed == "" && q.release != "" {
		return m.byTable(q.release, opts.Mirror)
	}
	feed := cmp.Or(opts.Feed, mongodFeed)
	report(progress, "reading the release feed %s", feed)
	f := e.from
	f.plain = opts.SHA256 != ""
	c, err := f.feed(ctx, feed, q, m)
	if err == nil {
		if opts.Mirror != "" {
			c.source = inMirror(opts.Mirror, path.Base(c.source))
		}
		return c, nil
	}
	if ctx.Err() != nil || errors.Is(err, errNoRelease) || errors.Is(err, errNoBuild) || errors.Is(err, errPlain) {
		return choice{}, err
	}
	if q.release != "" && opts.Feed == "" {
		report(progress, "%v; using the usual name of the archive", err)
		return m.byTable(q.release, "")
	}
	if inst := e.newestOf(q.series); inst.Path != "" {
		report(progress, "%v; keeping the installed release %s of the series %s", err, inst.Version, q.series)
		return choice{version: inst.Version}, nil
	}
	return choice{}, m.withoutNetwork(err, q.String())
}

// newestOf returns the newest installed release of a series, of all series for "".
func (e *mongod) newestOf(series string) (best Installation) {
	files, _ := filepath.Glob(escapeGlob(e.home.engine(Mongod)) + "/*/installation.json")
	for _, file := range files {
		inst, err := readInstallation(filepath.Dir(file))
		if err == nil && (series == "" || isRelease(inst.Version, series)) &&
			(best.Path == "" || newerVersion(inst.Version, best.Version)) {
			best = inst
		}
	}
	return best
}

// byTable returns the archive of a release on MongoDB's site or in a mirror, by the table of platforms.
func (m machine) byTable(version, mirror string) (choice, error) {
	folder, name, err := m.chooseFromTable(version)
	if err != nil {
		return choice{}, err
	}
	if mirror == "" {
		return choice{version: version, source: mongodSite + "/" + folder + "/" + name}, nil
	}
	return choice{version: version, source: inMirror(mirror, name)}, nil
}

// chooseFromDir returns the newest requested archive in a directory that runs on this machine.
func chooseFromDir(dir string, q mongodRequest, m machine) (choice, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return choice{}, fmt.Errorf("cannot read the mirror: %w", err)
	}
	var best choice
	for _, p := range m.platforms { // the best first
		start := "mongodb-linux-" + m.cpu + "-" + p + "-"
		if m.mac {
			start = "mongodb-macos-" + m.cpu + "-"
		}
		for _, f := range files {
			version, ok := strings.CutPrefix(f.Name(), start)
			if !ok || !strings.HasSuffix(version, ".tgz") {
				continue
			}
			version = strings.TrimSuffix(version, ".tgz")
			if !releasePattern().MatchString(version) || !q.matches(feedRelease{Version: version, Production: true}) {
				continue
			}
			if best.version == "" || newerVersion(version, best.version) {
				best = choice{version: version, source: filepath.Join(dir, f.Name())}
			}
		}
	}
	if best.version == "" {
		return choice{}, fmt.Errorf("%s has no archive of mongod %s for %s: it needs a file such as mongodb-linux-%s-%s-%s.tgz "+
			"and its signature NAME.tgz.sig", dir, q, m.name, m.cpu, m.platforms[0], cmp.Or(q.release, q.series+".N"))
	}
	return best, nil
}

// inMirror returns the URL or file of an archive in a mirror.
func inMirror(mirror, name string) string {
	if isURL(mirror) {
		return strings.TrimSuffix(mirror, "/") + "/" + name
	}
	return filepath.Join(mirror, name)
}

// installMongod downloads, verifies and unpacks an archive into dir, and returns its version. It unpacks and executes
// nothing before the user's checksum or the signature is verified.
func (e *mongod) installMongod(ctx context.Context, c choice, dir string, progress func(string)) (string, error) {
	archive := filepath.Join(dir, "archive.tgz")
	f := e.from
	f.plain = c.given
	report(progress, "downloading %s", c.source)
	sum, err := f.file(ctx, c.source, archive)
	if err != nil {
		return "", err
	}
	if c.sum != "" && sum != c.sum {
		return "", fmt.Errorf("the checksum of %s is %s instead of %s; nothing of it was unpacked", c.source, sum, c.sum)
	}
	proof := "its checksum is the given one"
	if !c.given {
		if proof, err = f.verify(ctx, c, archive); err != nil {
			return "", err
		}
	}
	report(progress, "%s; unpacking", proof)
	if err := unpackServer(archive, dir); err != nil {
		return "", fmt.Errorf("%s: %w", c.source, err)
	}
	if err := os.Remove(archive); err != nil {
		return "", err
	}
	version, err := downloadedVersion(ctx, filepath.Join(dir, "bin", "mongod"))
	if err != nil {
		return "", fmt.Errorf("the mongod of the archive does not run on this machine (is it for another system? see --platform): %w", err)
	}
	if c.version != "" && version != c.version {
		return "", fmt.Errorf("%s has release %s, not %s", c.source, version, c.version)
	}
	if !releasePattern().MatchString(version) {
		return "", fmt.Errorf("the mongod of %s reports an invalid release %q", c.source, version)
	}
	return version, replace.JSON(installationFile(dir), Installation{Engine: Mongod, Version: version, Source: c.source,
		Versions: map[string]string{"sha256": sum, "verified": proof}, Installed: time.Now().UTC()}, true)
}

// isSum reports whether a text is a SHA-256 checksum in hexadecimal.
func isSum(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size
}
