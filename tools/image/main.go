// Command image writes a container image of one static program, as an archive that docker load and ctr images import
// read. The program is the only file besides the certificates of authorities of this machine, and runs as a user
// without privileges.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// certificates is where programs of Go look for them first.
const certificates = "etc/ssl/certs/ca-certificates.crt"

// user is that of "nonroot" in other images without a system.
const user = "65532:65532"

func main() {
	out := flag.String("out", "image.tar", "the archive to write")
	ref := flag.String("name", "", "name and tag of the image")
	arch := flag.String("arch", runtime.GOARCH, "architecture of the program")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: image -name NAME:TAG [-out FILE] [-arch ARCH] PROGRAM [ARGUMENT...]")
		os.Exit(2)
	}
	if err := write(*out, *ref, *arch, flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(out, ref, arch, program string, args []string) error {
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	text, err := files(program)
	if err != nil {
		return err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	layer, err := tarball.LayerFromOpener(open)
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: arch,
		RootFS: v1.RootFS{Type: "layers", DiffIDs: config.RootFS.DiffIDs},
		Config: v1.Config{User: user, Entrypoint: append([]string{"/" + filepath.Base(program)}, args...)},
	})
	if err != nil {
		return err
	}
	return tarball.WriteToFile(out, tag, image)
}

// files is an archive of the program and the certificates. The same files give the same bytes.
func files(program string) ([]byte, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	add := func(from, to string, mode int64) error {
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: to, Mode: mode, Size: int64(len(b)), ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	if err := add(program, filepath.Base(program), 0o755); err != nil {
		return nil, err
	}
	if err := add("/"+certificates, certificates, 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := w.Close(); err != nil { // it writes the end
		return nil, err
	}
	return text.Bytes(), nil
}
