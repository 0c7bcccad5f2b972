package engine

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

const (
	// oldestGo is the first Go 1.x that downloads the newer Go which the gateway needs.
	oldestGo  = 21
	gatewayGo = 25 // the Go 1.x that the gateway needs
	// installRoom is the disk space of an installation in progress: the root directory, its packages, and the gateway.
	installRoom = int64(2) << 30
	// debianKeys are the keys with which debootstrap verifies packages of Debian.
	debianKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// goPlaces are usual paths of Go, for machines where PATH does not include it: sudo resets PATH.
var goPlaces = []string{"/usr/local/go/bin/go", "/usr/lib/go/bin/go", "/snap/bin/go"}

// checkInstall returns an error with all missing requirements, before anything is made or downloaded.
func (e *documentDB) checkInstall(ctx context.Context, opts InstallOptions) error {
	if opts.Version != "" || opts.Archive != "" || opts.SHA256 != "" || opts.Key != "" || opts.Platform != "" {
		return errors.New("version, archive, sha256, key and platform are options of mongod; documentdb is installed from Debian's packages")
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
		pool, err := x509.SystemCertPool()
		errs = append(errs, checkGo(ctx, goTool, err == nil && !pool.Equal(x509.NewCertPool())))
	}
	return errors.Join(errs...)
}

// checkUnused returns an error if a program of an installation runs.
func checkUnused(dir string) error {
	root, err := os.Stat(filepath.Join(dir, "root")) // of documentdb
	rooted := err == nil
	for _, pid := range process.IDs() {
		its, err := os.Stat(fmt.Sprintf("/proc/%d/root", pid))
		used := rooted && err == nil && os.SameFile(root, its)
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if used || err == nil && strings.HasPrefix(program, dir+string(filepath.Separator)) {
			return fmt.Errorf("the installed engine is in use (process %d): stop its labs and servers ('plimsoll lab list' names them), "+
				"then run the same command again", pid)
		}
	}
	return nil
}

func checkDebootstrap(keys string) error {
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return errors.New("cannot find the program debootstrap: install it with 'apt-get install debootstrap' " +
			"(the package has the same name on other systems)")
	}
	if _, err := os.Stat(keys); err != nil {
		return fmt.Errorf("cannot find the keys of Debian's packages (%s): install them with "+
			"'apt-get install debian-archive-keyring' (on other systems the package debian-archive-keyring or debian-keyring)", keys)
	}
	return nil
}

// findGo finds the Go tool on PATH or at a usual path.
func findGo(places []string) (string, error) {
	if path, err := exec.LookPath("go"); err == nil {
		return path, nil
	}
	for _, name := range places {
		if checkExecutable(name) == nil {
			return name, nil
		}
	}
	return "", errors.New("cannot find the Go tool, which builds the gateway: install Go (sudo resets PATH: " +
		"if Go is installed, use sudo env PATH=\"$PATH\" plimsoll …), or give a FerretDB " + gatewayVersion +
		" executable with --gateway")
}

var goVersion = expression.New(`^go1\.(\d+)`)

// checkGo returns an error for a Go tool that cannot build the gateway, and for a machine without CA certificates if
// the source is downloaded with HTTPS. It accepts a tool whose output it cannot parse.
func checkGo(ctx context.Context, tool string, certificates bool) error {
	cmd := childproc.Command(ctx, tool, "env", "GOVERSION", "GOTOOLCHAIN", "GOPROXY")
	cmd.Dir = "/" // not that of a module, which may ask for another Go
	out, err := cmd.Output()
	m := goVersion().FindSubmatch(out)
	if err != nil || m == nil {
		return nil
	}
	values := append(strings.Split(string(out), "\n"), "", "")
	if strings.Contains(values[2], "https:") && !certificates {
		return errors.New("cannot download the source of the gateway without CA certificates: " +
			"install them with 'apt-get install ca-certificates' (the package has the same name on other systems), " +
			"or give a FerretDB " + gatewayVersion + " executable with --gateway")
	}
	need := oldestGo
	if values[1] == "local" {
		need = gatewayGo // it may not download another Go
	}
	if minor, err := strconv.Atoi(string(m[1])); err == nil && minor < need {
		return fmt.Errorf("%s is Go 1.%d, and the gateway needs Go 1.%d or later: install a newer Go (go.dev/dl), "+
			"or give a FerretDB %s executable with --gateway", tool, minor, need, gatewayVersion)
	}
	return nil
}

// checkRoom returns an error if the disk of a home directory, which need not exist yet, is too full for an
// installation.
func checkRoom(home string, need int64) error {
	free, known := record.FreeBytes(home)
	if known && free < uint64(need) {
		return fmt.Errorf("an installation needs up to %s, and the disk of %s has %s free: free some space, "+
			"or set PLIMSOLL_HOME to a directory on another disk", figure.Bytes(need), home, figure.Bytes(int64(free)))
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
