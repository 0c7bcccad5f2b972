package engine

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

const (
	// oldestGo is the first Go 1.x that fetches the newer one by itself which the gateway asks for.
	oldestGo  = 21
	gatewayGo = 25 // the Go 1.x that the gateway asks for
	// installRoom is what an installation takes while it goes on: the root, its packages before they are unpacked, and
	// the gateway.
	installRoom = int64(2) << 30
	// debianKeys are what debootstrap verifies packages of Debian with. Other systems have them in a package of their own.
	debianKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// goPlaces are where Go is installed on machines where PATH does not name it: sudo has a PATH of its own.
var goPlaces = []string{"/usr/local/go/bin/go", "/usr/lib/go/bin/go", "/snap/bin/go"}

// checkInstall refuses what cannot work before anything is made or downloaded. All that is missing is told at once.
func (e *documentDB) checkInstall(opts InstallOptions) error {
	if opts.Version != "" || opts.Archive != "" || opts.SHA256 != "" || opts.Key != "" || opts.Platform != "" {
		return errors.New("version, archive, checksum and platform are mongod's; documentdb is taken from Debian's packages")
	}
	if err := needRoot("installing the engine documentdb"); err != nil {
		return err
	}
	errs := []error{checkDebootstrap(debianKeys), checkRoom(e.home.dir, installRoom)}
	if opts.Gateway != "" {
		errs = append(errs, checkExecutable(opts.Gateway))
	} else if goTool, err := findGo(goPlaces); err != nil {
		errs = append(errs, err)
	} else {
		errs = append(errs, checkGo(goTool, trustsAnybody()))
	}
	return errors.Join(errs...)
}

// checkDebootstrap looks for what makes the root: the program, and the keys of Debian.
func checkDebootstrap(keys string) error {
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return errors.New("the program debootstrap is needed and not there: install it with 'apt-get install debootstrap' (package debootstrap on other systems too)")
	}
	if _, err := os.Stat(keys); err != nil {
		return fmt.Errorf("the keys of Debian's packages are needed and not there (%s): install them with 'apt-get install debian-archive-keyring' (package debian-archive-keyring, or debian-keyring, on other systems)", keys)
	}
	return nil
}

// findGo finds the Go tool, also where it is usual but not on PATH.
func findGo(places []string) (string, error) {
	if path, err := exec.LookPath("go"); err == nil {
		return path, nil
	}
	for _, name := range places {
		if checkExecutable(name) == nil {
			return name, nil
		}
	}
	return "", errors.New("the Go tool is needed to build the gateway and is not there: install Go (sudo has a PATH of its own: if Go is installed, say sudo env PATH=\"$PATH\" plimsoll …), or give a FerretDB " + gatewayVersion + " executable with --gateway")
}

var goVersion = regexp.MustCompile(`^go1\.(\d+)`)

// trustsAnybody says whether this machine knows authorities whose certificates it trusts.
func trustsAnybody() bool {
	pool, err := x509.SystemCertPool()
	return err == nil && !pool.Equal(x509.NewCertPool())
}

// checkGo refuses a Go tool that cannot build the gateway, and a machine that trusts no certificates where the source
// comes by HTTPS. A tool that says nothing that is understood is tried.
func checkGo(tool string, certificates bool) error {
	cmd := exec.Command(tool, "env", "GOVERSION", "GOTOOLCHAIN", "GOPROXY")
	cmd.Dir = "/" // not that of a module, which may ask for another Go
	out, err := cmd.Output()
	m := goVersion.FindSubmatch(out)
	if err != nil || m == nil {
		return nil
	}
	said := append(strings.Split(string(out), "\n"), "", "")
	if strings.Contains(said[2], "https:") && !certificates {
		return errors.New("certificates are needed to fetch the source of the gateway and are not there: install them with 'apt-get install ca-certificates' (package ca-certificates on other systems too), or give a FerretDB " + gatewayVersion + " executable with --gateway")
	}
	need := oldestGo
	if said[1] == "local" {
		need = gatewayGo // it may not fetch another one
	}
	if minor, err := strconv.Atoi(string(m[1])); err == nil && minor < need {
		return fmt.Errorf("%s is Go 1.%d, and building the gateway needs 1.%d or later: install a newer Go (go.dev/dl), or give a FerretDB %s executable with --gateway", tool, minor, need, gatewayVersion)
	}
	return nil
}

// checkRoom refuses a home directory, which need not exist yet, whose disk has less free than an installation takes.
func checkRoom(home string, need int64) error {
	free, known := record.FreeBytes(home)
	if known && free < uint64(need) { // where it is not known, the installation finds out
		return fmt.Errorf("an installation takes up to %s while it goes on, and the disk of %s has %s free: make room, or let PLIMSOLL_HOME name a directory on another disk", figure.Bytes(need), home, figure.Bytes(int64(free)))
	}
	return nil
}

func checkExecutable(name string) error {
	fi, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not an executable file", name)
	}
	return nil
}
