package engine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// machine has the properties of this machine that decide which archives of mongod run on it.
type machine struct {
	name      string   // for messages: "debian 12"
	cpu       string   // in the names of archives
	arches    []string // names of the cpu in feeds; releases differ
	platforms []string // platform parts of archives that run on this machine, the best first
	mac       bool
	chosen    bool // the user named the platform
}

// thisMachine describes this machine. If platform is not empty, it is the only platform.
func thisMachine(platform string) (machine, error) {
	text := ""
	if runtime.GOOS == "linux" {
		release, err := os.ReadFile("/etc/os-release")
		if err != nil && platform == "" {
			return machine{}, fmt.Errorf("cannot detect the Linux distribution (choose a build with --platform): %w", err)
		}
		text = string(release)
	}
	return describeMachine(runtime.GOOS, runtime.GOARCH, text, platform)
}

// describeMachine finds the platforms of a machine. release is the text of /etc/os-release.
func describeMachine(goos, goarch, release, platform string) (machine, error) {
	m := machine{name: goos, cpu: map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]}
	if m.cpu == "" {
		return m, fmt.Errorf("there is no mongod for %s: build one and name it (engine.binary in a specification, "+
			"--binary of plimsoll lab up)", goarch)
	}
	m.arches = []string{m.cpu, goarch} // older entries of the feed say arm64
	switch goos {
	case "darwin":
		m.mac, m.platforms, m.name = true, []string{"macos"}, "macOS"
		if goarch == "arm64" {
			m.cpu = "arm64"
		}
		return m, nil
	case "linux":
	default:
		return m, fmt.Errorf("there is no mongod archive for %s that Plimsoll can unpack", goos)
	}
	id, major, joined := osRelease(release)
	m.name = strings.TrimSpace(id + " " + major)
	if platform != "" {
		m.platforms, m.chosen = []string{platform}, true
		return m, nil
	}
	if m.platforms = linuxPlatforms(id, major, joined, goarch); len(m.platforms) == 0 {
		return m, fmt.Errorf("no build of mongod is known for this Linux (%s): choose one with --platform, such as ubuntu2204", m.name)
	}
	return m, nil
}

// linuxPlatforms returns the builds that run on a Linux distribution, the best first. It includes builds for other
// distributions whose C library is not newer and whose OpenSSL has the same major version: builds for Ubuntu 22.04 and
// later and for Debian 12 use OpenSSL 3, earlier ones OpenSSL 1.1. There is no build for Debian on arm64.
func linuxPlatforms(id, major, joined, goarch string) []string {
	var p []string
	switch id {
	case "debian":
		p = map[string][]string{"10": {"debian10", "ubuntu1804"}, "11": {"debian11", "debian10", "ubuntu2004"},
			"12": {"debian12", "ubuntu2204"}, "13": {"debian13", "debian12", "ubuntu2404", "ubuntu2204"}}[major]
	case "ubuntu":
		p = map[string][]string{"1804": {"ubuntu1804"}, "2004": {"ubuntu2004", "ubuntu1804"}}[joined]
		if p == nil && joined >= "2204" {
			p = slices.Compact([]string{"ubuntu" + joined, "ubuntu2404", "ubuntu2204"})
		}
		if joined == "2204" {
			p = []string{"ubuntu2204"}
		}
	case "rhel", "centos", "rocky", "almalinux", "ol":
		p = map[string][]string{"8": {"rhel8", "rhel80", "rhel82"}, "9": {"rhel9", "rhel93", "rhel90"}, "10": {"rhel10"}}[major]
	case "amzn":
		p = []string{"amazon" + major}
	case "sles", "opensuse-leap":
		p = []string{"suse" + major}
	}
	if goarch == "arm64" {
		p = slices.DeleteFunc(p, func(s string) bool { return strings.HasPrefix(s, "debian") })
	}
	return p
}

// osRelease reads from /etc/os-release the distribution, its major version, and both numbers without the point (2204).
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

// span is a range of releases; below is exclusive, and empty for no end.
type span struct{ from, below string }

// platformSpans lists the releases with an archive for a platform, in case that the feed cannot be read. Source:
// MongoDB's pages of supported platforms and its archive lists as of November 2026.
var platformSpans = map[string][]span{
	"debian10": {{"4.2.1", "7.0.0"}}, "debian11": {{"5.0.8", "8.0.0"}}, "debian12": {{"7.0.5", ""}},
	"ubuntu1804": {{"4.0.0", "7.0.0"}}, "ubuntu2004": {{"4.4.0", ""}}, "ubuntu2204": {{"6.0.4", ""}}, "ubuntu2404": {{"8.0.0", ""}},
	"rhel8":  {{"5.0.29", "5.1.0"}, {"6.0.17", "6.1.0"}, {"7.0.14", "7.1.0"}, {"8.0.0", ""}},
	"rhel80": {{"4.2.1", "5.0.29"}, {"5.1.0", "6.0.17"}, {"6.1.0", "7.0.14"}, {"7.1.0", "8.0.0"}},
	"rhel82": {{"4.4.4", "5.0.29"}, {"5.1.0", "6.0.17"}, {"6.1.0", "7.0.14"}, {"7.1.0", "8.0.0"}},
	"rhel90": {{"6.0.4", "8.0.0"}}, "rhel93": {{"8.0.0", ""}},
	"amazon2": {{"4.2.0", ""}}, "amazon2023": {{"7.0.0", ""}}, "suse12": {{"4.0.0", "8.0.0"}}, "suse15": {{"4.2.1", ""}},
	"macos": {{"4.2.0", ""}},
}

// archOnly lists platforms with archives for only one processor.
var archOnly = map[string]string{"rhel80": "x86_64", "rhel82": "aarch64"}

// has reports whether the table has an archive of a release for a platform.
func (m machine) has(platform, version string) bool {
	if cpu := archOnly[platform]; cpu != "" && cpu != m.cpu {
		return false
	}
	return slices.ContainsFunc(platformSpans[platform], func(s span) bool {
		return !newerVersion(s.from, version) && (s.below == "" || newerVersion(s.below, version))
	})
}

// chooseFromTable returns the archive of a release without the feed. A platform of the user is not checked.
func (m machine) chooseFromTable(version string) (folder, name string, err error) {
	if m.mac {
		return "osx", "mongodb-macos-" + m.cpu + "-" + version + ".tgz", nil
	}
	for _, p := range m.platforms {
		if m.chosen || m.has(p, version) {
			return "linux", "mongodb-linux-" + m.cpu + "-" + p + "-" + version + ".tgz", nil
		}
	}
	return "", "", m.noBuild(mongodRequest{release: version})
}

// noBuild is the error for a release without a build for this machine. It lists the builds that there are.
func (m machine) noBuild(q mongodRequest) error {
	if m.chosen {
		return fmt.Errorf("%w: release %s of mongod has no archive for the platform %s on %s. Leave --platform out, or choose another one",
			errNoBuild, q, m.platforms[0], m.cpu)
	}
	var since []string
	for _, p := range m.platforms {
		if spans := platformSpans[p]; len(spans) > 0 && (archOnly[p] == "" || archOnly[p] == m.cpu) {
			since = append(since, p+" from "+spans[0].from)
		}
	}
	return fmt.Errorf("%w: release %s of mongod has none that runs on %s (%s). These builds run on it: %s. Choose a release with "+
		"one of them, or choose another build with --platform and install its libraries",
		errNoBuild, q, m.name, m.cpu, strings.Join(since, ", "))
}

var errNoBuild = errors.New("there is no build")

// withoutNetwork adds to an error how to install a release or a series without a network.
func (m machine) withoutNetwork(err error, version string) error {
	key := "the key that signed it"
	if k, ok := keyOf(releaseKeys, version); ok {
		key = keySite + "/" + k.file
	}
	return fmt.Errorf("%w\nWithout a network: download an archive for the platform %s (%s), its signature (NAME.tgz.sig) and %s on "+
		"another machine. Copy them into one directory on this machine, and run 'plimsoll engine install mongod --archive FILE'. "+
		"Or use a mongod of this machine: put it on PATH, or name it with --binary FILE of 'plimsoll engine run' and 'plimsoll lab up'",
		err, strings.Join(m.platforms, ", "), m.cpu, key)
}
