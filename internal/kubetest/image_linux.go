package kubetest

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// notInImages are files and directories of a Debian system that no server of a test reads, such as what PostGIS needs
// for rasters. Both nodes unpack an image, so they are worth half a minute.
var notInImages = []string{"boot", "proc", "sys", "dev", "run", "tmp", "var", "usr/include", "usr/src", "usr/games", "usr/lib/systemd",
	"usr/lib/x86_64-linux-gnu/perl", "usr/lib/x86_64-linux-gnu/systemd", "usr/share/doc", "usr/share/man", "usr/share/locale",
	"usr/share/i18n", "usr/share/perl", "usr/share/proj", "usr/share/info", "usr/share/fonts",
	"usr/lib/python3*", "usr/bin/python3*", "usr/bin/perl*", "usr/bin/etcd*", "usr/lib/postgresql/*/lib/bitcode",
	"usr/share/postgresql/*/contrib", "usr/lib/x86_64-linux-gnu/libgdal.so*", "usr/lib/x86_64-linux-gnu/libSFCGAL.so*",
	"usr/lib/x86_64-linux-gnu/libhdf5*", "usr/lib/x86_64-linux-gnu/libpoppler*", "usr/lib/x86_64-linux-gnu/libspatialite*",
	"usr/lib/x86_64-linux-gnu/libSvtAv1Enc*", "usr/lib/x86_64-linux-gnu/libaom*", "usr/lib/x86_64-linux-gnu/libjxl*",
	"usr/lib/x86_64-linux-gnu/lapack", "usr/lib/x86_64-linux-gnu/libperl*", "plimsoll"}

// Image writes an image of a system's root directory, without what no server reads, and returns the archive. Files that
// are added are programs: their names in the image, and where they are.
func Image(t testing.TB, name, root string, add map[string]string, entry ...string) (archive string) {
	t.Helper()
	dir := t.TempDir()
	archive = filepath.Join(dir, "image.tar")
	layer := filepath.Join(dir, "layer.tar")
	digest, err := writeLayer(layer, root, add)
	if err == nil {
		err = writeImage(archive, name, layer, digest, entry)
	}
	if err = errors.Join(err, os.Remove(layer)); err != nil {
		t.Fatal(err)
	}
	return archive
}

func writeLayer(file, root string, add map[string]string) (digest string, err error) {
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	w := tar.NewWriter(io.MultiWriter(f, sum))
	for _, dir := range []string{"run", "tmp", "var/tmp", "var/run"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o1777}))
	}
	err = errors.Join(err, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		for _, not := range notInImages {
			if is, _ := filepath.Match(not, name); is && d.IsDir() {
				return filepath.SkipDir
			} else if is {
				return nil
			}
		}
		return addFile(w, path, name)
	}))
	for name, path := range add {
		err = errors.Join(err, addFile(w, path, name))
	}
	err = errors.Join(err, w.Close()) // which writes the end
	return hex.EncodeToString(sum.Sum(nil)), err
}

// addFile adds a file, a directory or a link with its owner and mode.
func addFile(w *tar.Writer, path, name string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name, h.Uname, h.Gname = name, "", ""
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// writeImage writes the archive that docker save writes.
func writeImage(archive, name, layer, digest string, entry []string) error {
	config, err := json.Marshal(map[string]any{"os": "linux", "architecture": runtime.GOARCH,
		"config": map[string]any{"Env": []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin"}, "Entrypoint": entry},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}}})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for name, text := range map[string][]byte{"config.json": config, "manifest.json": manifest} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(addFile(w, layer, "layer.tar"), w.Close())
}
