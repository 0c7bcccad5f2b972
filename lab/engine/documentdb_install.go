package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

const (
	gatewayModule  = "github.com/FerretDB/FerretDB/v2"
	gatewayVersion = "v2.7.0"
	installTries   = 3 // of a step that needs the network
)

// debianSuites are tried in this order. The packages of testing fit together on every day, but testing can lack one of
// them for weeks; sid has the newest ones.
var debianSuites = []string{"testing", "sid"}

// enginePackages are installed in the root directory. Patroni needs python3-etcd for version 3 of etcd's protocol too.
var enginePackages = []string{"postgresql-18-documentdb", "patroni", "etcd-server", "etcd-client", "python3-etcd"}

// partPackages are the packages whose versions an installation has, by part.
var partPackages = map[string]string{"postgresql": "postgresql-18", "documentdb": "postgresql-18-documentdb",
	"patroni": "patroni", "etcd": "etcd-server"}

// answers is a script that fails if a program of the root directory cannot run.
const answers = `set -e
` + pgBin + `/postgres --version
patroni --version
patronictl version
python3 -c 'import patroni.dcs.etcd3'
etcd --version
etcdctl version
`

// errNotInstallable is returned if a suite has not all packages today. Another try does not help.
var errNotInstallable = errors.New("cannot install")

// documentDBInstall is one installation in progress.
type documentDBInstall struct {
	opts   InstallOptions
	dir    string // takes the place of the engine's directory at the end
	log    io.Writer
	report func(format string, a ...any)
}

// Install makes a Debian root directory with PostgreSQL, the extension, Patroni and etcd, and builds the gateway. It
// renames the directory at the end, so an installation is complete or absent.
func (e *documentDB) Install(ctx context.Context, opts InstallOptions, progress func(string)) error {
	return install(ctx, e.home, DocumentDB, progress, func(dir string, log *process.LockedWriter) (string, error) {
		in := &documentDBInstall{opts: opts, dir: dir, log: &lineCounter{w: log, ctx: ctx},
			report: func(format string, a ...any) { report(progress, format, a...) }}
		in.report("this takes five to ten minutes on most machines; the output of the tools is in %s", e.home.log(DocumentDB))
		return e.home.engine(DocumentDB), in.run(ctx)
	}, func() (string, error) {
		inst, err := e.Installed(ctx)
		if errors.Is(err, ErrNotInstalled) {
			return "", e.checkInstall(ctx, opts)
		}
		return inst.Path, err
	})
}

// usualLines is the number of lines that the tools of an installation print. In November 2026, debootstrap and apt-get
// printed 2,097, and the Go tool prints one for each of the 553 packages of the gateway that is not compiled yet.
const usualLines = 2700

// lineCounter counts the lines of a log, and tells the listener of a context how far the installation is.
type lineCounter struct {
	w     io.Writer
	ctx   context.Context
	lines atomic.Int64
}

func (c *lineCounter) Write(b []byte) (int, error) {
	n := c.lines.Add(int64(bytes.Count(b, []byte("\n"))))
	wait.Advance(c.ctx, wait.Part{Name: "installing " + DocumentDB, Done: min(n, usualLines-1), Total: usualLines})
	return c.w.Write(b)
}

// run makes the installation in in.dir. It builds the gateway concurrently with the root directory: the build needs the
// processor, the root directory the network.
func (in *documentDBInstall) run(ctx context.Context) error {
	if err := bothOrNeither(ctx, in.root, in.gateway); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(in.dir, "ferretdb"), filepath.Join(in.dir, "root", gatewayFile)); err != nil {
		return err
	}
	return in.finish(ctx)
}

// bothOrNeither calls two functions concurrently. If one fails, it cancels the other and returns the error of the
// first.
func bothOrNeither(ctx context.Context, one, other func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	do := func(what func(context.Context) error) {
		if err := what(ctx); err != nil {
			cancel(err)
		}
	}
	go func() { defer close(ended); do(other) }()
	do(one)
	<-ended
	return context.Cause(ctx)
}

// root makes the root directory with the packages, from the first suite that works.
func (in *documentDBInstall) root(ctx context.Context) error {
	suites := debianSuites
	if in.opts.Suite != "" {
		suites = []string{in.opts.Suite}
	}
	mirror := in.opts.Mirror
	if mirror == "" {
		mirror = aptMirror(os.DirFS("/"))
	}
	var err error
	for _, suite := range suites {
		suiteErr := in.tries(ctx, "making the root directory", func() error { return in.suite(ctx, suite, mirror) })
		if suiteErr == nil || ctx.Err() != nil {
			return suiteErr
		}
		in.report("from Debian %s: %s", suite, lastLine(suiteErr))
		err = errors.Join(err, fmt.Errorf("from Debian %s: %w", suite, suiteErr))
	}
	return err
}

// tries repeats a step that needs the network, but not if packages are missing.
func (in *documentDBInstall) tries(ctx context.Context, what string, step func() error) error {
	for try := 1; ; try++ {
		err := step()
		if err == nil || ctx.Err() != nil || errors.Is(err, errNotInstallable) || try == installTries {
			return err
		}
		fmt.Fprintf(in.log, "\n%v\n", err)
		in.report("%s failed and is tried again (%d of %d): %s", what, try+1, installTries, lastLine(err))
		if err := wait.Sleep(ctx, time.Duration(try)*5*time.Second); err != nil {
			return err
		}
	}
}

// lastLine returns the last line of a failed program's output, which is usually the reason.
func lastLine(err error) string {
	text := strings.TrimSpace(err.Error())
	return strings.TrimPrefix(strings.TrimSpace(text[strings.LastIndex(text, "\n")+1:]), "| ")
}

// suite makes the root directory from one Debian suite.
func (in *documentDBInstall) suite(ctx context.Context, suite, mirror string) error {
	root := filepath.Join(in.dir, "root")
	if err := process.RemoveTree(root); err != nil {
		return err
	}
	in.report("making a root directory of Debian %s (about 100 MB of packages)", suite)
	args := []string{"--variant=minbase", "--force-check-gpg", suite, root}
	if mirror != "" {
		args = append(args, mirror)
		// A debootstrap older than the suite has no script for it; all scripts are the same as sid's.
		args = append(args, "/usr/share/debootstrap/scripts/sid")
	}
	if err := in.command(ctx, nil, "debootstrap", args...); err != nil {
		return err
	}
	if err := prepareRoot(root); err != nil {
		return err
	}
	in.report("installing %s in it", strings.Join(enginePackages, ", "))
	return in.packages(ctx, root)
}

// packages installs the packages in the root directory from the lists of its suite. A dry run tells packages that the
// suite does not have today from a failed download.
func (in *documentDBInstall) packages(ctx context.Context, root string) error {
	install := func(options []string, packages ...string) error {
		return in.apt(ctx, root, slices.Concat(options, []string{"-y", "--no-install-recommends", "install"}, packages)...)
	}
	dry := []string{"-s"}
	if err := install(dry, enginePackages...); err != nil {
		if ctx.Err() != nil {
			return err
		}
		missing := slices.DeleteFunc(slices.Clone(enginePackages), func(p string) bool { return install(dry, p) == nil })
		if len(missing) == 0 {
			missing = enginePackages // each can be installed, but not all together
		}
		return fmt.Errorf("%w %s today: %s", errNotInstallable, strings.Join(missing, ", "), lastLine(err))
	}
	if err := install(nil, enginePackages...); err != nil {
		return err
	}
	return in.apt(ctx, root, "clean")
}

// apt runs apt-get in the root directory. dpkg flushes no file: finish flushes all of them.
func (in *documentDBInstall) apt(ctx context.Context, root string, args ...string) error {
	return in.command(ctx, &process.Sandbox{Root: root, DevPts: true}, "/usr/bin/apt-get",
		append([]string{"-q", "-o", "Acquire::Retries=3", "-o", "Dpkg::Use-Pty=0", "-o", "Dpkg::Options::=--force-unsafe-io"},
			args...)...)
}

// suiteOf reads the suite of a root directory from the line "deb MIRROR SUITE main", which debootstrap writes.
func suiteOf(root string) string {
	text, _ := os.ReadFile(filepath.Join(root, "etc/apt/sources.list")) // without it the suite is unknown
	if f := strings.Fields(string(text)); len(f) > 2 {
		return f[2]
	}
	return "unknown"
}

// command runs a program and writes its output to the log.
func (in *documentDBInstall) command(ctx context.Context, sb *process.Sandbox, path string, args ...string) error {
	s := process.Spec{Role: filepath.Base(path), Path: path, Args: args, Sandbox: sb}
	s.Env = append((&exec.Cmd{}).Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	if sb == nil {
		s.Sandbox = &process.Sandbox{} // ends the mounts and processes of debootstrap with it
		abs, err := exec.LookPath(path)
		if err != nil {
			return err
		}
		s.Path = abs
	}
	fmt.Fprintf(in.log, "\n== %s %s\n", path, strings.Join(args, " "))
	_, err := process.Run(ctx, s, in.log)
	return err
}

// prepareRoot makes the server's directories in the root, and prevents package scripts from starting services.
func prepareRoot(root string) error {
	var err error
	for _, d := range []string{dataMount, filepath.Dir(gatewayFile)} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	deny := "#!/bin/sh\n# No service is started in this root.\nexit 101\n"
	return errors.Join(err, os.WriteFile(filepath.Join(root, "usr/sbin/policy-rc.d"), []byte(deny), 0o755))
}

// gateway builds FerretDB in in.dir, or copies the given executable.
func (in *documentDBInstall) gateway(ctx context.Context) error {
	if in.opts.Gateway != "" {
		return copyFile(in.opts.Gateway, filepath.Join(in.dir, "ferretdb"))
	}
	in.report("building the gateway FerretDB %s", gatewayVersion)
	goTool, err := findGo(goPlaces)
	if err != nil {
		return err
	}
	// Without cgo the executable needs no C library, so it also runs in the root directory.
	env := append((&exec.Cmd{}).Environ(), "GOBIN="+in.dir, "CGO_ENABLED=0")
	s := process.Spec{Role: "go install", Path: goTool, Env: env,
		Args: []string{"install", "-v", gatewayModule + "/cmd/ferretdb@" + gatewayVersion}}
	return in.tries(ctx, "building the gateway", func() error {
		_, err := process.Run(ctx, s, in.log)
		return err
	})
}

// finish checks that all programs answer, flushes all files to disk, and describes the installation.
func (in *documentDBInstall) finish(ctx context.Context) error {
	root := filepath.Join(in.dir, "root")
	query := func(role, path string, args ...string) (string, error) {
		out, err := process.Run(ctx, process.Spec{Role: role, Path: path, Args: args,
			Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}, Sandbox: &process.Sandbox{Root: root}}, in.log)
		return strings.TrimSpace(string(out)), err
	}
	_, err := query("the test of the installed programs", "/bin/sh", "-c", answers)
	gw, gwErr := query("the gateway", gatewayFile, "--version")
	err = errors.Join(err, gwErr)
	v := map[string]string{"ferretdb": gatewayLine(gw), "debian": suiteOf(root), "platform": runtime.GOOS + "/" + runtime.GOARCH}
	for part, name := range partPackages {
		version, partErr := query("dpkg-query", "/usr/bin/dpkg-query", "-W", "-f", "${Version}", name)
		v[part], err = version, errors.Join(err, partErr)
	}
	if err == nil {
		err = in.command(ctx, nil, "sync", "-f", in.dir)
	}
	if err != nil {
		return err
	}
	return replace.JSON(installationFile(in.dir), Installation{
		Engine: DocumentDB, Source: "Debian packages, " + gatewayModule,
		Version: fmt.Sprintf("PostgreSQL %s, DocumentDB %s, FerretDB %s, Patroni %s, etcd %s", v["postgresql"], v["documentdb"],
			v["ferretdb"], v["patroni"], v["etcd"]),
		Versions: v, Installed: time.Now().UTC(),
	}, true)
}

// gatewayLine finds the version in the output of "ferretdb --version", the line "version: v2.7.0".
func gatewayLine(out string) string {
	for line := range strings.Lines(out) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "version: "); ok {
			return v
		}
	}
	return strings.TrimSpace(strings.SplitN(out, "\n", 2)[0])
}

// copyFile copies an executable.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return writeMember(to, 0o755, src)
}

// aptMirror returns the Debian mirror of this machine's apt, "" if there is none; debootstrap then uses Debian's public
// mirror. It skips mirrors of security updates, and dated archives, because they have other states of sid.
func aptMirror(root fs.FS) string {
	var files []string
	for _, pattern := range []string{"etc/apt/sources.list", "etc/apt/sources.list.d/*.sources", "etc/apt/sources.list.d/*.list"} {
		found, _ := fs.Glob(root, pattern) // the patterns are well-formed
		files = append(files, found...)
	}
	for _, name := range files {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			for _, word := range strings.Fields(line) {
				if isDebianMirror(word) && !strings.HasPrefix(strings.TrimSpace(line), "#") {
					return strings.TrimSuffix(word, "/")
				}
			}
		}
	}
	return ""
}

// isDebianMirror reports whether a word of apt's configuration is the URL of a complete mirror.
func isDebianMirror(word string) bool {
	isURL := strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
	path := strings.TrimSuffix(word, "/")
	return isURL && strings.HasSuffix(path, "/debian") && !strings.Contains(path, "/archive/")
}
