// Command release builds what people install: for each platform the program with its man pages and shell completion in
// an archive and a list of its components, and for Linux also packages for Debian and RPM and a container image. The
// Helm chart and the checksums of all files are beside them. The same commit gives the same bytes.
//
// It publishes and signs nothing.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are those of a release.
const platforms = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64"

// release is what is being built.
type release struct {
	top     string // of the clone
	out     string // directory of the files
	scratch string // directory of what goes into them
	version string
	time    time.Time // of the commit, which all files have
}

func main() {
	out := flag.String("out", "bin/release", "directory of the files, below the clone; it is emptied first")
	wanted := flag.String("platforms", platforms, "the `platforms` to build for, as GOOS/GOARCH")
	image := flag.Bool("image", true, "build the container images")
	flag.Parse()
	if err := build(*out, strings.Fields(*wanted), *image); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(out string, wanted []string, image bool) error {
	top, err := filepath.Abs("..") // make runs it in tools
	if err != nil {
		return err
	}
	r := &release{top: top, out: filepath.Join(top, out)}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp("", "plimsoll-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.scratch)
	if err := r.describe(); err != nil {
		return err
	}
	for _, p := range wanted {
		began := time.Now()
		if err := r.platform(p, image); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		fmt.Printf("%-14s %3.0f s\n", p, time.Since(began).Seconds())
	}
	if err := r.chart(); err != nil {
		return err
	}
	return r.checksums()
}

// describe builds the program of this machine, and writes what is the same for all platforms.
func (r *release) describe() error {
	host, err := r.program(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	said, err := r.run(r.top, nil, host, "version")
	if err != nil {
		return err
	}
	if fields := strings.Fields(said); len(fields) > 1 {
		r.version = fields[1]
	}
	if r.time, err = r.commitTime(); err != nil {
		return err
	}
	if _, err := r.run(r.top, nil, host, "man", filepath.Join(r.scratch, "man")); err != nil {
		return err
	}
	for shell, name := range completions {
		text, err := r.run(r.top, nil, host, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.scratch, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return r.compressPages()
}

// completions are the files of shell completion, by the shell.
var completions = map[string]string{"bash": "plimsoll.bash", "zsh": "_plimsoll", "fish": "plimsoll.fish"}

// commitTime is SOURCE_DATE_EPOCH or the time of the commit.
func (r *release) commitTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = r.run(r.top, nil, "git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, fmt.Errorf("the time of the files: %w. Set SOURCE_DATE_EPOCH where there is no repository", err)
		}
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// program builds plimsoll for a platform, once: static and without symbols.
func (r *release) program(system, arch string) (string, error) {
	out := filepath.Join(r.scratch, system+"-"+arch, "plimsoll")
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	env := []string{"GOOS=" + system, "GOARCH=" + arch, "CGO_ENABLED=0"}
	// For all processors of an architecture, whatever the environment of the builder says.
	env = append(env, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	_, err := r.run(r.top, env, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./cmd/plimsoll")
	return out, err
}

// platform builds the files of one platform.
func (r *release) platform(name string, image bool) error {
	system, arch, ok := strings.Cut(name, "/")
	if !ok {
		return fmt.Errorf("a platform is GOOS/GOARCH, such as linux/amd64")
	}
	program, err := r.program(system, arch)
	if err != nil {
		return err
	}
	stem := fmt.Sprintf("plimsoll_%s_%s_%s", r.version, system, arch)
	if err := r.archive(stem, program); err != nil {
		return err
	}
	if err := r.components(filepath.Join(r.out, stem+".cdx.json"), program); err != nil {
		return err
	}
	if system != "linux" {
		return nil
	}
	for _, kind := range []string{"deb", "rpm"} {
		if err := r.pack(kind, arch, program); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	if !image {
		return nil
	}
	_, err = r.run(filepath.Join(r.top, "tools"), nil, "go", "run", "./image", "-arch", arch, "-name", "plimsoll:"+r.version,
		"-out", filepath.Join(r.out, stem+".image.tar"), program)
	return err
}

// run runs a command in a directory and returns what it printed.
func (r *release) run(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), args[0], err, said.Bytes())
	}
	return string(out), nil
}

// checksums writes the checksums of all files, as sha256sum --check reads them, and prints the files.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	w := bufio.NewWriter(os.Stdout)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), e.Name())
		fmt.Fprintf(w, "%6.1f MB  %s\n", float64(len(text))/1e6, e.Name())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// pages are the names of the man pages.
func (r *release) pages() ([]string, error) {
	list, err := filepath.Glob(filepath.Join(r.scratch, "man", "*.1"))
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("plimsoll man wrote no pages")
	}
	slices.Sort(list)
	return list, err
}
