package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// aptRoot makes a root directory with this machine's apt and dpkg, in which an engine without Patroni is installed.
const aptRoot = `set -e
cd "$1"
mkdir -p usr/bin usr/sbin usr/lib usr/lib64 tmp dev proc repo plimsoll/bin usr/lib/postgresql/18/bin etc/apt/preferences.d \
	etc/apt/apt.conf.d var/lib/dpkg/info var/lib/dpkg/updates var/lib/dpkg/triggers var/lib/apt/lists/partial \
	var/cache/apt/archives/partial var/log/apt etc/dpkg/dpkg.cfg.d
for d in bin sbin lib lib64; do ln -s usr/$d $d; done
programs="/usr/bin/apt-get /usr/bin/dpkg /usr/bin/dpkg-deb /usr/bin/dpkg-query /usr/bin/dpkg-split /usr/bin/tar /usr/bin/rm
	/usr/bin/sh /usr/bin/sleep /usr/bin/diff /usr/sbin/ldconfig /usr/sbin/start-stop-daemon
	/usr/lib/apt/methods/file /usr/lib/apt/methods/copy /usr/lib/apt/methods/store"
for f in $programs /usr/share/dpkg/*table $(ldd $programs | awk '$2 == "=>" { print $3 } $1 ~ "^/.*ld-" { print $1 }' | sort -u); do
	cp -L --parents $f .
done
echo 'root:x:0:0::/:/bin/sh' > etc/passwd
echo 'deb file:/repo sid main' > etc/apt/sources.list
printf '%s\n' 'Acquire::AllowInsecureRepositories "1";' 'APT::Get::AllowUnauthenticated "1";' 'APT::Sandbox::User "root";' \
	> etc/apt/apt.conf.d/test
for p in postgresql-18 postgresql-18-documentdb; do
	printf '%s\n' "Package: $p" 'Status: install ok installed' 'Version: 18.0-1' 'Architecture: all' 'Maintainer: test' \
		'Description: test' ''
done > var/lib/dpkg/status
printf '#!/bin/sh\n' | tee usr/lib/postgresql/18/bin/postgres > plimsoll/bin/ferretdb
echo 'echo version: v2.7.0' >> plimsoll/bin/ferretdb
chmod 755 usr/lib/postgresql/18/bin/postgres plimsoll/bin/ferretdb
`

// addPackage adds a package with programs to the repository in a root directory.
func addPackage(t *testing.T, root, name, program string, programs ...string) {
	t.Helper()
	dir := t.TempDir()
	control := "Package: " + name + "\nVersion: 9.1-2\nArchitecture: all\nMaintainer: test\nDescription: test\n"
	bin := filepath.Join(dir, "usr/bin")
	err := errors.Join(os.Chmod(dir, 0o755), os.MkdirAll(bin, 0o755), os.Mkdir(filepath.Join(dir, "DEBIAN"), 0o755),
		os.WriteFile(filepath.Join(dir, "DEBIAN/control"), []byte(control), 0o644))
	for _, p := range programs {
		err = errors.Join(err, os.WriteFile(filepath.Join(bin, p), []byte("#!/bin/sh\n"+program+"\n"), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	deb := filepath.Join(root, "repo", name+".deb")
	if out, err := exec.Command("dpkg-deb", "-Znone", "--build", dir, deb).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(deb)
	if err != nil {
		t.Fatal(err)
	}
	arch, err := exec.Command("dpkg", "--print-architecture").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(root, "repo/dists/sid/main/binary-"+strings.TrimSpace(string(arch)), "Packages")
	if err := os.MkdirAll(filepath.Dir(list), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(list, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(f, "%sFilename: %s.deb\nSize: %d\nSHA256: %x\n\n", control, name, len(data), sha256.Sum256(data))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// dateLists gives the lists of the repository in a root directory an age. They are valid for a week.
func dateLists(t *testing.T, root string, days int) {
	t.Helper()
	release := filepath.Join(root, "repo/dists/sid/Release")
	packages, err := filepath.Glob(filepath.Join(root, "repo/dists/sid/main/binary-*/Packages"))
	if err != nil || len(packages) != 1 {
		t.Fatal(packages, err)
	}
	list, err := os.ReadFile(packages[0])
	if err != nil {
		t.Fatal(err)
	}
	const layout = "Mon, 02 Jan 2006 15:04:05 UTC"
	date := time.Now().UTC().AddDate(0, 0, -days)
	text := fmt.Sprintf("Origin: test\nSuite: sid\nCodename: sid\nComponents: main\nDate: %s\nValid-Until: %s\nSHA256:\n %x %d %s\n",
		date.Format(layout), date.AddDate(0, 0, 7).Format(layout), sha256.Sum256(list), len(list),
		strings.TrimPrefix(packages[0], filepath.Dir(release)+"/"))
	if err := os.WriteFile(release, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// oldEngine makes an installation without Patroni.
func oldEngine(t *testing.T, e *documentDB) (inst Installation, root string) {
	t.Helper()
	inst = Installation{Engine: DocumentDB, Version: "PostgreSQL 18.0-1", Path: e.home.engine(DocumentDB)}
	root = filepath.Join(inst.Path, "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", aptRoot, "sh", root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := writeJSON(installationFile(inst.Path), inst); err != nil {
		t.Fatal(err)
	}
	return inst, root
}

// The real apt upgrades an engine from before Patroni from a repository on disk. The engine gets all packages, or it
// stays as it was.
func TestUpgradeAddsPatroni(t *testing.T) {
	t.Parallel() // it mostly waits for apt
	for _, p := range []string{"/usr/bin/apt-get", "/usr/bin/dpkg-deb"} {
		if _, err := os.Stat(p); err != nil || os.Geteuid() != 0 {
			notrun.Here(t, "this needs root and a Debian: %v", err)
			return
		}
	}
	e := &documentDB{home: layout{t.TempDir()}}
	old, root := oldEngine(t, e)
	if err := old.CheckPatroni(); err == nil || !strings.Contains(err.Error(), "plimsoll engine install documentdb") {
		t.Errorf("an engine without Patroni: error %v", err)
	}
	// keeps checks that an upgrade fails and that the engine is as before.
	keeps := func(what string, opts InstallOptions, want string) {
		t.Helper()
		err := e.Install(t.Context(), opts, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", what, err, want)
		}
		now, err := e.Installed(t.Context())
		if diff := cmp.Diff(old, now); diff != "" || err != nil {
			t.Errorf("%s: the installation changed, error %v (-want +got):\n%s", what, err, diff)
		}
		if _, err := os.Stat(filepath.Join(root, "usr/bin/etcd")); err == nil {
			t.Errorf("%s: the installed engine has etcd", what)
		}
		if left, err := staleInstallations(e.home, DocumentDB); err != nil || len(left) > 0 {
			t.Errorf("%s: left %q, error %v", what, left, err)
		}
	}
	keeps("options", InstallOptions{Suite: "sid"}, "takes no options")

	addPackage(t, root, "etcd-server", "exit 0", "etcd")
	addPackage(t, root, "etcd-client", "exit 0", "etcdctl")
	addPackage(t, root, "python3-etcd", "exit 0", "python3")
	keeps("no package", InstallOptions{}, "from Debian sid: cannot install patroni today: E: Unable to locate package patroni")

	addPackage(t, root, "patroni", "[ -e /works ]", "patroni", "patronictl")
	keeps("a program that does not run", InstallOptions{}, "the test of the installed programs failed")

	if err := os.WriteFile(filepath.Join(root, "works"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	running, err := process.Start(t.Context(), process.Spec{Role: "server", Path: "/usr/bin/sleep", Args: []string{"600"},
		Sandbox: &process.Sandbox{Root: root}})
	if err != nil {
		t.Fatal(err)
	}
	keeps("in use", InstallOptions{}, fmt.Sprintf("in use (process %d)", running.PID))
	running.Kill()
	<-running.Done

	dateLists(t, root, 100)
	keeps("lists that are too old", InstallOptions{}, "expired")
	dateLists(t, root, 20)

	var said []string
	say := func(line string) { said = append(said, line) }
	if err := e.Install(t.Context(), InstallOptions{}, say); err != nil {
		t.Fatal(err)
	}
	now, err := e.Installed(t.Context())
	if err != nil || now.CheckPatroni() != nil || now.Path != old.Path {
		t.Errorf("upgraded to %+v, error %v", now, err)
	}
	want := map[string]string{"postgresql": "18.0-1", "documentdb": "18.0-1", "ferretdb": "v2.7.0", "patroni": "9.1-2",
		"etcd": "9.1-2", "debian": "sid", "platform": now.Versions["platform"]}
	if diff := cmp.Diff(want, now.Versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if err := e.Install(t.Context(), InstallOptions{}, say); err != nil || !strings.Contains(said[len(said)-1], "already installed") {
		t.Errorf("said %q, error %v", said, err)
	}
}
