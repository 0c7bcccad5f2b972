package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// mongodFeed is MongoDB's list of all its releases with the archives of each and their checksums.
const mongodFeed = "https://downloads.mongodb.org/full.json"

// defaultSeries is the series whose newest patch is installed when no release is named.
const defaultSeries = "8.0"

// maxFeed bounds what is read of a feed; the one of 2026 has some 30 MB.
const maxFeed = 512 << 20

// feedRelease is what is used of one release in the feed.
type feedRelease struct {
	Version    string         `json:"version"`
	Production bool           `json:"production_release"`
	Downloads  []feedDownload `json:"downloads"`
}

// feedDownload is one archive of a release. Target is the platform part of its name ("debian12"), Arch is as uname
// says it, Edition is "targeted" for the community server on Linux and "base" for that of macOS.
type feedDownload struct {
	Target  string `json:"target"`
	Arch    string `json:"arch"`
	Edition string `json:"edition"`
	Archive struct {
		URL    string `json:"url"`
		SHA256 string `json:"sha256"`
	} `json:"archive"`
}

// readFeed calls keep for each release of a feed. It holds one release in memory at a time.
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
		err = fmt.Errorf("%v stands where %v should", got, want)
	}
	if err != nil {
		return notFeed(err)
	}
	return nil
}

func notFeed(err error) error { return fmt.Errorf("this is not a release feed: %w", err) }

var seriesPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+$`)

// mongodRequest is what a user asks for: a release with all its numbers, or the newest patch of a series.
type mongodRequest struct {
	release string // "8.0.12"; empty for the newest patch
	series  string // "8.0"
}

// parseMongodRequest reads --version.
func parseMongodRequest(version string) (mongodRequest, error) {
	switch {
	case version == "":
		return mongodRequest{series: defaultSeries}, nil
	case seriesPattern.MatchString(version):
		return mongodRequest{series: version}, nil
	case releasePattern.MatchString(version):
		return mongodRequest{release: version}, nil
	}
	return mongodRequest{}, fmt.Errorf("%q is not a release: write a series, such as 8.0, for its newest patch, or all three numbers, such as 8.0.21", version)
}

// matches says whether a release of the feed is asked for. The newest patch of a series is a production release.
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

// choice is an archive to install: from the feed, or from the table of platforms.
type choice struct {
	version string
	source  string // URL or file
	sum     string // SHA-256 in lower-case hexadecimal, "" if it is not known
	given   bool   // the user gave sum
	key     string // the file with the key that signed it, "" for MongoDB's
	// machine is the one that the archive was chosen for, nil if the user named the archive.
	machine *machine
}

// advise adds to an error of the network how to install without one.
func (c choice) advise(err error) error {
	if c.machine == nil || !errors.As(err, new(*url.Error)) || errors.Is(err, errPlain) {
		return err
	}
	return c.machine.withoutNetwork(err, c.version)
}

// chooseFromFeed finds the newest release that was asked for and that has an archive for this machine.
func chooseFromFeed(r io.Reader, q mongodRequest, m machine) (choice, error) {
	var best choice
	bestRank := 0
	var others []string // releases of the series without an archive for this machine, and for what they have some
	err := readFeed(r, func(release feedRelease) {
		if !q.matches(release) || !releasePattern.MatchString(release.Version) {
			return
		}
		d, rank, ok := m.pick(release.Downloads)
		if !ok {
			others = append(others, release.Version)
			return
		}
		if best.version == "" || newerVersion(release.Version, best.version) || release.Version == best.version && rank < bestRank {
			best, bestRank = choice{version: release.Version, source: d.Archive.URL, sum: strings.ToLower(d.Archive.SHA256)}, rank
		}
	})
	switch {
	case err != nil:
		return choice{}, err
	case best.version != "":
		if !isURL(best.source) || path.Base(best.source) == "" || !isSum(best.sum) {
			return choice{}, fmt.Errorf("the feed names %q with the checksum %q for release %s: neither can be used", best.source, best.sum, best.version)
		}
		return best, nil
	case len(others) > 0:
		return choice{}, m.noBuild(q)
	}
	return choice{}, fmt.Errorf("%w: the feed has no release %s of mongod", errNoRelease, q)
}

// errNoRelease is why a feed that could be read did not help.
var errNoRelease = errors.New("there is no such release")

// pick finds the archive that fits best; rank is its place among the platforms of the machine.
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

// feed reads a feed, a URL or file, and chooses from it.
func (f fetcher) feed(ctx context.Context, feed string, q mongodRequest, m machine) (choice, error) {
	r, err := f.open(ctx, feed)
	if err != nil {
		return choice{}, fmt.Errorf("cannot read the release feed %s: %w", feed, err)
	}
	defer r.Close()
	c, err := chooseFromFeed(r, q, m)
	if err != nil {
		return choice{}, fmt.Errorf("the release feed %s: %w", feed, err)
	}
	return c, nil
}
