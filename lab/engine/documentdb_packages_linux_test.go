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

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
)

// aptRoot makes a root directory with this machine's apt and dpkg, in which PostgreSQL is installed.
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

// The real apt installs the packages from a repository on disk. It names what is missing, and a program that does not
// run is no installation.
func TestPackagesOfDocumentDB(t *testing.T) {
	t.Parallel() // it mostly waits for apt
	for _, p := range []string{"/usr/bin/apt-get", "/usr/bin/dpkg-deb"} {
		if _, err := os.Stat(p); err != nil || os.Geteuid() != 0 {
			notrun.Here(t, "this needs root and a Debian: %v", err)
			return
		}
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", aptRoot, "sh", root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	in := &documentDBInstall{dir: dir, log: t.Output()}
	refuses := func(what, want string) {
		t.Helper()
		err := errors.Join(in.apt(t.Context(), root, "update"), in.packages(t.Context(), root))
		if err == nil {
			err = in.finish(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", what, err, want)
		}
		if _, err := readInstallation(dir); err == nil {
			t.Errorf("%s: it counts as an installation", what)
		}
	}
	addPackage(t, root, "etcd-server", "exit 0", "etcd")
	addPackage(t, root, "etcd-client", "exit 0", "etcdctl")
	addPackage(t, root, "python3-etcd", "exit 0", "python3")
	refuses("no package", "cannot install patroni today: E: Unable to locate package patroni")

	addPackage(t, root, "patroni", "[ -e /works ]", "patroni", "patronictl")
	refuses("a program that does not run", "the test of the installed programs failed")

	if err := os.WriteFile(filepath.Join(root, "works"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := in.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	now, err := readInstallation(dir)
	want := map[string]string{"postgresql": "18.0-1", "documentdb": "18.0-1", "ferretdb": "v2.7.0", "patroni": "9.1-2",
		"etcd": "9.1-2", "debian": "sid", "platform": now.Versions["platform"]}
	if diff := cmp.Diff(want, now.Versions); diff != "" || err != nil {
		t.Errorf("error %v, versions (-want +got):\n%s", err, diff)
	}
}
