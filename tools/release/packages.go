package main

import (
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers its packager
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers its packager
)

const (
	homepage = "https://github.com/plimsoll-bench/plimsoll"
	summary  = `Measures how much load a MongoDB deployment safely carries
Plimsoll loads a deployment on its real storage, topology and durability, also
while parts of it fail, and says how much it carries and what it loses.`
)

var kinds = map[string]struct {
	zsh      string
	suggests []string // for what needs them: labs, and the open engine
}{
	"deb": {"/usr/share/zsh/vendor-completions/_plimsoll", []string{"debootstrap", "fuse3", "iproute2", "nftables"}},
	"rpm": {"/usr/share/zsh/site-functions/_plimsoll", []string{"debootstrap", "fuse3", "iproute", "nftables"}},
}

// pack writes a package of a kind. The program is static, so it depends on no other.
func (r *release) pack(kind, arch, program string) error {
	contents, err := r.contents(kind, program)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "plimsoll", Arch: arch, Platform: "linux", Version: r.version, Release: "1", Section: "database", Priority: "optional",
		Maintainer: "The Plimsoll authors <" + homepage + "/issues>", Description: summary, Homepage: homepage, License: "Apache-2.0",
		MTime: r.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, Recommends: []string{"ca-certificates"}, Suggests: kinds[kind].suggests,
			RPM: nfpm.RPM{BuildHost: "localhost", Group: "Applications/Databases"}},
	})
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return err
	}
	p, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.out, p.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	if err := p.Package(info, out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// contents are the files of a package.
func (r *release) contents(kind, program string) (files.Contents, error) {
	const doc = "/usr/share/doc/plimsoll"
	scratch := func(name string) string { return filepath.Join(r.scratch, name) }
	list := []entry{
		{"/usr/bin/plimsoll", program, 0o755},
		{"/usr/share/bash-completion/completions/plimsoll", scratch(completions["bash"]), 0o644},
		{"/usr/share/fish/vendor_completions.d/plimsoll.fish", scratch(completions["fish"]), 0o644},
		{kinds[kind].zsh, scratch(completions["zsh"]), 0o644},
		{doc + "/copyright", filepath.Join(r.top, "LICENSE"), 0o644},
		{doc + "/changelog.gz", scratch("changelog.gz"), 0o644},
	}
	pages, err := r.pages()
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		list = append(list, entry{"/usr/share/man/man1/" + filepath.Base(p) + ".gz", p + ".gz", 0o644})
	}
	examples, err := r.examples()
	if err != nil {
		return nil, err
	}
	for _, e := range examples {
		e.name = path.Join(doc, e.name)
		list = append(list, e)
	}
	var contents files.Contents
	for _, e := range list {
		contents = append(contents, &files.Content{Source: e.file, Destination: e.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: os.FileMode(e.mode), MTime: r.time}})
	}
	return contents, nil
}
