package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a file of an archive.
type entry struct {
	name string // in the archive
	file string
	mode int64
}

// archive writes the program of a platform with its documentation, below a directory of the name stem.
func (r *release) archive(stem, program string) error {
	list := []entry{{"plimsoll", program, 0o755}, {"LICENSE", filepath.Join(r.top, "LICENSE"), 0o644},
		{"README.md", filepath.Join(r.top, "README.md"), 0o644}, {"CHANGELOG.md", filepath.Join(r.top, "CHANGELOG.md"), 0o644}}
	pages, err := r.pages()
	if err != nil {
		return err
	}
	for _, p := range pages {
		list = append(list, entry{"man/man1/" + filepath.Base(p), p, 0o644})
	}
	for _, name := range completions {
		list = append(list, entry{"completion/" + name, filepath.Join(r.scratch, name), 0o644})
	}
	examples, err := r.examples()
	if err != nil {
		return err
	}
	return r.write(stem+".tar.gz", stem, append(list, examples...))
}

// examples are the files of examples/ without programs.
func (r *release) examples() ([]entry, error) {
	return r.tree("examples", "examples", func(name string) bool { return path.Ext(name) != ".go" })
}

// tree lists the files below a folder of the clone that want takes, with names below as. Files that are not in the
// repository, such as records of runs, are left out.
func (r *release) tree(folder, as string, want func(name string) bool) (list []entry, err error) {
	root := filepath.Join(r.top, folder)
	if said, err := r.run(r.top, nil, "git", "ls-files", "-z", "--", folder); err == nil && said != "" {
		for _, name := range strings.FieldsFunc(said, func(c rune) bool { return c == 0 }) {
			below, err := filepath.Rel(folder, filepath.FromSlash(name))
			if err != nil {
				return nil, err
			}
			if want(name) {
				list = append(list, entry{path.Join(as, filepath.ToSlash(below)), filepath.Join(r.top, name), 0o644})
			}
		}
		return list, nil
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !want(file) {
			return err
		}
		name, err := filepath.Rel(root, file)
		list = append(list, entry{path.Join(as, filepath.ToSlash(name)), file, 0o644})
		return err
	})
	return list, err
}

// chart packs the Helm chart, as helm package does.
func (r *release) chart() error {
	const name = "plimsoll-agents"
	list, err := r.tree("deploy/helm/"+name, "", func(string) bool { return true })
	if err != nil {
		return err
	}
	return r.write(name+"-"+r.version+".tgz", name, list)
}

// write writes an archive of files, whose names begin with a directory.
func (r *release) write(file, dir string, list []entry) error {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, e := range list {
		text, err := os.ReadFile(e.file)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: path.Join(dir, e.name), Mode: e.mode, Size: int64(len(text)), ModTime: r.time,
			Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, file), out.Bytes(), 0o644)
}

// compressPages writes the man pages and the changelog a second time, compressed as Debian wants them in packages.
func (r *release) compressPages() error {
	pages, err := r.pages()
	if err != nil {
		return err
	}
	for from, to := range r.compressed(pages) {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(text); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(to, out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compressed are the compressed files by the files.
func (r *release) compressed(pages []string) map[string]string {
	all := map[string]string{filepath.Join(r.top, "CHANGELOG.md"): filepath.Join(r.scratch, "changelog.gz")}
	for _, p := range pages {
		all[p] = p + ".gz"
	}
	return all
}
