//go:build !race

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// demoCommand is the command of `make demo`, in its script.
var demoCommand = regexp.MustCompile(`(?m)^flags="(.*)"$`)

// inRoot installs the package in a root of Debian without plimsoll and without Go, uses it as a user without rights,
// and removes it. The root is that of the open engine; what is written goes to memory. Mounts end with this script.
const inRoot = `set -eu
mount -t tmpfs plimsoll "$DIR"
mkdir "$DIR/upper" "$DIR/work" "$DIR/root"
mount -t overlay -o "lowerdir=$LOWER,upperdir=$DIR/upper,workdir=$DIR/work" plimsoll "$DIR/root"
cp "$DEB" "$DIR/root/plimsoll.deb"
inside() { chroot "$DIR/root" "$@"; }
user() { chroot --userspec=65534:65534 "$DIR/root" env HOME=/tmp/user "$@"; }
inside sh -c '! command -v plimsoll && ! command -v go'
inside dpkg --install /plimsoll.deb
inside dpkg --verify plimsoll
user plimsoll version
user sh -c 'gzip -dc /usr/share/man/man1/plimsoll-run.1.gz | grep -c "^\.SH OPTIONS"'
inside bash -n /usr/share/bash-completion/completions/plimsoll
user plimsoll workload check /usr/share/doc/plimsoll/examples/workloads/iot.yaml
inside install -d -o 65534 -g 65534 /tmp/user
user sh -c "cd /tmp/user && plimsoll run $FLAGS" || [ $? = 6 ] # too short, or on a busy machine
inside dpkg --purge plimsoll
inside sh -c '! command -v plimsoll'
inside sh -c '! find /usr/share -path "*plimsoll*" | grep .'
echo all done
`

// TestPackage installs the package for Debian that `make release` builds, and runs the demo with it.
func TestPackage(t *testing.T) {
	inTurn(t, 60)
	e, ok := enginetest.DocumentDB(t) // with a line on what is missing
	if !ok {
		return
	}
	inst, err := e.Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(top, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.MkdirTemp(bin, "package-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(out) })
	relative, err := filepath.Rel(top, out)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "-C", filepath.Join(top, "tools"), "run", "./release", "-platforms", "linux/"+runtime.GOARCH,
		"-image=false", "-out", relative)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	checkSums(t, out)
	debs, err := filepath.Glob(filepath.Join(out, "*.deb"))
	if err != nil || len(debs) != 1 {
		t.Fatalf("found the packages %v (%v), want one", debs, err)
	}
	script, err := os.ReadFile(filepath.Join(top, "tools", "demo.sh"))
	if err != nil {
		t.Fatal(err)
	}
	flags := demoCommand.FindSubmatch(script)
	if flags == nil {
		t.Fatal("tools/demo.sh has no flags of its run")
	}
	shorter := regexp.MustCompile(`--(warmup|duration) \S+`).ReplaceAllString(string(flags[1]), "--$1 1s")
	cmd = exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", inRoot)
	cmd.Env = append(os.Environ(), "DIR="+t.TempDir(), "LOWER="+filepath.Join(inst.Path, "root"), "DEB="+debs[0], "FLAGS="+shorter)
	said, err := cmd.CombinedOutput()
	text := string(said)
	if err != nil || !strings.HasSuffix(text, "all done\n") {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{"plimsoll 0.", "ok/s offered (embedded, not MongoDB)", "plimsoll report plimsoll-data/runs/"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// checkSums checks that the checksums of a release are those of its files, and that each file has one.
func checkSums(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	files, globErr := filepath.Glob(filepath.Join(dir, "*"))
	if n := strings.Count(string(said), ": OK\n"); err != nil || globErr != nil || n != len(files)-1 || n < 5 {
		t.Fatalf("%d of %d files have a checksum (%v, %v):\n%s", n, len(files)-1, err, globErr, said)
	}
}
