package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// mongodFeed is MongoDB's list of all releases with their archives and checksums.
const mongodFeed = "https://downloads.mongodb.org/full.json"

const defaultSeries = "8.0"

// maxFeed limits the size of a feed; in 2026 it has about 30 MB.
const maxFeed = 512 << 20

// feedRelease has the fields of a release that Plimsoll uses.
type feedRelease struct {
	Version    string         `json:"version"`
	Production bool           `json:"production_release"`
	Downloads  []feedDownload `json:"downloads"`
}

// feedDownload is one archive of a release. Target is the platform part of its name ("debian12"), Arch a name of uname.
// Edition is "targeted" for the community server on Linux and "base" for that of macOS.
type feedDownload struct {
	Target  string `json:"target"`
	Arch    string `json:"arch"`
	Edition string `json:"edition"`
	Archive struct {
		URL    string `json:"url"`
		SHA256 string `json:"sha256"`
	} `json:"archive"`
}

// readFeed calls keep for each release of a feed. It has one release in memory at a time.
func readFeed(r io.Reader, keep func(feedRelease)) error {
	d := json.NewDecoder(io.LimitReader(r, maxFeed))
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	seen := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return notFeed(err)
		}
		if key != "versions" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return notFeed(err)
			}
			continue
		}
		seen = true
		if err := expect(d, json.Delim('[')); err != nil {
			return err
		}
		for d.More() {
			var release feedRelease
			if err := d.Decode(&release); err != nil {
				return notFeed(err)
			}
			keep(release)
		}
		if err := expect(d, json.Delim(']')); err != nil {
			return err
		}
	}
	if err := expect(d, json.Delim('}')); err != nil {
		return err
	}
	if !seen {
		return notFeed(errors.New("it has no versions"))
	}
	return nil
}

func expect(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err == nil && got != want {
		err = fmt.Errorf("found %v instead of %v", got, want)
	}
	if err != nil {
		return notFeed(err)
	}
	return nil
}

func notFeed(err error) error { return fmt.Errorf("it is not a release feed: %w", err) }

var seriesPattern = expression.New(`^[0-9]+\.[0-9]+$`)

// mongodRequest is the requested release, or the newest patch of a series.
type mongodRequest struct {
	release string // "8.0.12"; empty for the newest patch
	series  string // "8.0"
}

func parseMongodRequest(version string) (mongodRequest, error) {
	switch {
	case version == "":
		return mongodRequest{series: defaultSeries}, nil
	case seriesPattern().MatchString(version):
		return mongodRequest{series: version}, nil
	case releasePattern().MatchString(version):
		return mongodRequest{release: version}, nil
	}
	return mongodRequest{}, fmt.Errorf("%q is not a release: use a series, such as 8.0, for its newest patch, "+
		"or all three numbers, such as 8.0.21", version)
}

// matches reports whether a release of the feed is requested. Of a series only production releases match.
func (q mongodRequest) matches(r feedRelease) bool {
	if q.release != "" {
		return r.Version == q.release
	}
	return r.Production && strings.HasPrefix(r.Version, q.series+".") && !strings.Contains(r.Version, "-")
}

func (q mongodRequest) String() string {
	if q.release != "" {
		return q.release
	}
	return q.series
}

// choice is an archive to install, from the feed or from the table of platforms.
type choice struct {
	version string
	source  string // URL or file
	sum     string // SHA-256 in lower-case hexadecimal, "" if unknown
	given   bool   // the user gave sum
	key     string // the file with the key that signed it, "" for MongoDB's
	// machine is nil if the user named the archive.
	machine *machine
}

// advise adds to a network error how to install without a network.
func (c choice) advise(err error) error {
	if c.machine == nil || !errors.As(err, new(*url.Error)) || errors.Is(err, errPlain) {
		return err
	}
	return c.machine.withoutNetwork(err, c.version)
}

// chooseFromFeed returns the newest requested release with an archive for this machine.
func chooseFromFeed(r io.Reader, q mongodRequest, m machine) (choice, error) {
	var best choice
	bestRank := 0
	var others []string // requested releases without an archive for this machine
	err := readFeed(r, func(release feedRelease) {
		if !q.matches(release) || !releasePattern().MatchString(release.Version) {
			return
		}
		d, rank, ok := m.pick(release.Downloads)
		if !ok {
			others = append(others, release.Version)
			return
		}
		if best.version == "" || newerVersion(release.Version, best.version) ||
			release.Version == best.version && rank < bestRank {
			best, bestRank = choice{version: release.Version, source: d.Archive.URL, sum: strings.ToLower(d.Archive.SHA256)},
				rank
		}
	})
	switch {
	case err != nil:
		return choice{}, err
	case best.version != "":
		if !isURL(best.source) || path.Base(best.source) == "" || !isSum(best.sum) {
			return choice{}, fmt.Errorf("it has an invalid URL %q or checksum %q for release %s", best.source, best.sum, best.version)
		}
		return best, nil
	case len(others) > 0:
		return choice{}, m.noBuild(q)
	}
	return choice{}, fmt.Errorf("%w: it has no release %s of mongod", errNoRelease, q)
}

var errNoRelease = errors.New("unknown release")

// pick returns the best archive; rank is the index of its platform in the platforms of the machine.
func (m machine) pick(downloads []feedDownload) (d feedDownload, rank int, ok bool) {
	rank = len(m.platforms)
	for _, one := range downloads {
		if one.Edition != "targeted" && one.Edition != "base" || !slices.Contains(m.arches, one.Arch) {
			continue
		}
		if i := slices.Index(m.platforms, one.Target); i >= 0 && i < rank {
			d, rank, ok = one, i, true
		}
	}
	return d, rank, ok
}

// feed reads a feed from a URL or file, and chooses an archive.
func (f fetcher) feed(ctx context.Context, feed string, q mongodRequest, m machine) (choice, error) {
	r, length, err := f.open(ctx, feed)
	if err != nil {
		return choice{}, fmt.Errorf("cannot read the release feed %s: %w", feed, err)
	}
	defer r.Close()
	reading := wait.Part{Name: "release feed", Total: max(0, length), Bytes: true}
	c, err := chooseFromFeed(&tellingReader{r, ctx, reading}, q, m)
	if err != nil {
		return choice{}, fmt.Errorf("the release feed %s: %w", feed, err)
	}
	return c, nil
}
