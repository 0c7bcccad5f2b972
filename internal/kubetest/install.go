package kubetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
)

// packages of Debian with what a node runs. catatonit is the process of a pod's sandbox.
var packages = []string{"containerd", "runc", "containernetworking-plugins", "catatonit"}

// programs are the files that clusters run.
type programs struct {
	cache string // the directory of everything here
	cube  string // the components of Kubernetes
	debs  string // the root directory of the unpacked packages
	pause string // the image of sandboxes
	// driver is the node's part of the CSI driver.
	driver string
	top    string // the directory of the module
}

// find returns where the programs are, installed or not. The version of Kubernetes, of Go and of the source is in the
// name of the components' file.
func find() (p programs, version string, err error) {
	out, err := exec.Command("go", "env", "GOMOD", "GOVERSION").Output()
	if err != nil {
		return p, "", fmt.Errorf("cannot find the module's directory by go env: %w", err)
	}
	mod, compiler, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	top := filepath.Dir(mod)
	texts := map[string]string{}
	hash := func(module string, names ...string) string {
		all := compiler + "\n"
		for _, name := range names {
			text, readErr := os.ReadFile(filepath.Join(top, "internal/kubetest", module, name))
			texts[module+"/"+name] = string(text)
			all += string(text)
			err = errors.Join(err, readErr)
		}
		sum := sha256.Sum256([]byte(all))
		return module + "-" + hex.EncodeToString(sum[:])[:16]
	}
	cube := hash("cube", "main.go", "go.sum", "go.mod")
	driver := hash("driver", "main.go", "csi.go", "go.sum", "go.mod")
	if err != nil {
		return p, "", err
	}
	if m := regexp.MustCompile(`k8s.io/kubernetes v(\S+)`).FindStringSubmatch(texts["cube/go.mod"]); m != nil {
		version = m[1]
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return p, "", err
	}
	dir = filepath.Join(dir, "plimsoll-kubetest")
	return programs{
		cache:  dir,
		cube:   filepath.Join(dir, cube),
		debs:   filepath.Join(dir, "debs"),
		pause:  filepath.Join(dir, "pause.tar"),
		driver: filepath.Join(dir, driver),
		top:    top,
	}, version, os.MkdirAll(dir, 0o755)
}

// missing is the first program that is not installed.
func (p programs) missing() string {
	for _, name := range []string{p.cube, p.debs, p.pause, p.driver} {
		if _, err := os.Stat(name); err != nil {
			return name
		}
	}
	return ""
}

// Install builds the components of Kubernetes, unpacks the packages of Debian and makes the image of sandboxes, in the
// user's cache directory. What is there already is kept. It installs nothing on the machine.
func Install() error {
	p, version, err := find()
	if err != nil {
		return err
	}
	if err := p.removeLeft(); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(p.cache, fmt.Sprintf("new-%d-", os.Getpid()))
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	make := map[string]func(name string) error{
		p.cube:   func(name string) error { return p.build(name, version, filepath.Join(tmp, "objects")) },
		p.debs:   unpack,
		p.pause:  p.sandbox,
		p.driver: func(name string) error { return p.compile(name, "driver", "-s -w", "") },
	}
	for _, name := range []string{p.cube, p.debs, p.pause, p.driver} {
		if _, err := os.Stat(name); err == nil {
			continue
		}
		made := filepath.Join(tmp, filepath.Base(name))
		if err := make[name](made); err != nil {
			return err
		}
		if err := os.Rename(made, name); err != nil {
			return err
		}
	}
	return nil
}

// removeLeft removes what installations that were killed have left, which may be gigabytes.
func (p programs) removeLeft() error {
	left, err := filepath.Glob(filepath.Join(p.cache, "new-*"))
	for _, dir := range left {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), "new-"), "-")
		if pid, _ := strconv.Atoi(number); !procid.Of(pid).Alive() {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

// build compiles with a cache of objects that is removed, because it has 2 GB and is rarely used again.
func (p programs) build(name, version, objects string) error {
	number := strings.SplitN(version, ".", 3)
	flags := "-s -w"
	for field, value := range map[string]string{"Version": "v" + version, "Major": number[0], "Minor": number[1]} {
		flags += " -X k8s.io/component-base/version.git" + field + "=" + value
	}
	return p.compile(name, "cube", flags, objects)
}

// compile compiles a module beside this package, and removes its earlier versions. An empty cache of objects is that of
// the user.
func (p programs) compile(name, module, flags, objects string) error {
	old, err := filepath.Glob(filepath.Join(p.cache, module+"-*"))
	if err != nil {
		return err
	}
	for _, o := range old {
		if err := os.Remove(o); err != nil {
			return err
		}
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", flags, "-o", name, ".")
	cmd.Dir = filepath.Join(p.top, "internal/kubetest", module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if objects != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+objects)
	}
	return run(cmd)
}

func unpack(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	get := exec.Command("apt-get", append([]string{"-q", "download"}, packages...)...)
	get.Dir = dir
	if err := run(get); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := run(exec.Command("dpkg-deb", "-x", f, dir)); err != nil {
			return err
		}
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}

// pauseImage is what sandboxes run.
const pauseImage = "registry.local/pause:1"

func (p programs) sandbox(archive string) error {
	return p.image(archive, pauseImage, filepath.Join(p.debs, "usr/bin/catatonit"), "-P")
}

// image writes an image of a program.
func (p programs) image(archive, name string, program ...string) error {
	args := []string{"-C", filepath.Join(p.top, "tools"), "run", "./image", "-out", archive, "-name", name}
	return run(exec.Command("go", append(args, program...)...))
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s failed: %w\n%s", cmd, err, out)
	}
	return nil
}
