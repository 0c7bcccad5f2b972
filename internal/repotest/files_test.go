package repotest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"testing"
)

// opens are the calls of os that open a file by its name or put one in the place of another. A name that a person, a
// specification or a record gives may be a pipe that nobody writes, a device without an end, or a link: such files are
// opened by internal/safeopen and written by internal/replace.
var opens = []string{"Open", "OpenFile", "ReadFile", "Create", "WriteFile", "Rename"}

// owners are the files, and the folders with those below them, that own the files that they open, with the reason.
var owners = map[string]string{
	"internal":                     "the ground: safeopen and replace themselves, and files of the kernel and of tests",
	"lab":                          "directories of labs and engines, disks, and files of the kernel",
	"disk":                         "test files of probes, devices and files of the kernel",
	"fleet/nats/server.go":         "the directory of the coordinator: whether its disk is full",
	"fleet/resume.go":              "moves the parts of a record whose directory this process holds",
	"record/diagnostics.go":        "a new file of the record that this process writes",
	"record/env.go":                "files of the kernel",
	"record/env_linux.go":          "files of the system",
	"record/hold.go":               "the lock of a directory",
	"record/holder_linux.go":       "files of the kernel",
	"record/logs.go":               "a new file of the record that this process writes",
	"record/packed.go":             "files of a record in a new directory",
	"record/remote/remote.go":      "moves what it has unpacked or copied",
	"record/schema/gen":            "not in the program",
	"record/study_journal.go":      "the journal of a record that this process writes",
	"record/writer.go":             "new files of the record that this process writes",
	"run/observe/process_linux.go": "files of the kernel",
	"measure":                      "files of the kernel",
	"bench":                        "not in the program",
	"liars":                        "not in the program",
	"tools":                        "not in the program",
	"campaign/campaigntest":        "not in the program",
	"capacity/sizetest":            "not in the program",
	"report/recordtest":            "not in the program",
	"platform/vsphere/vspheretest": "not in the program",
}

func fileUses(s source) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "os" && slices.Contains(opens, sel.Sel.Name) && imports(s, "os") {
			found = append(found, fmt.Sprintf("%s: os.%s", s.at(sel.Pos()), sel.Sel.Name))
		}
		return true
	})
	return found
}

// owner returns the key of [owners] that lets a file open others, "" if there is none.
func owner(name string) string { return keyOf(owners, name) }

// keyOf returns the key of a list that is a file or a folder above it, "" if there is none.
func keyOf(list map[string]string, name string) string {
	for folder := name; folder != "."; folder = path.Dir(folder) {
		if list[folder] != "" {
			return folder
		}
	}
	return ""
}

func TestFilesAreOpenedInOnePlace(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		uses := fileUses(s)
		key := owner(s.name)
		if len(uses) > 0 {
			used[key] = true
		}
		if key != "" {
			continue
		}
		for _, use := range uses {
			t.Errorf("%s: open files with internal/safeopen and write them with internal/replace, which know pipes, devices, links and limits", use)
		}
	}
	for key := range owners {
		if !used[key] {
			t.Errorf("the exception for %s is no longer needed: remove it", key)
		}
	}
}

func TestOpensAreFound(t *testing.T) {
	s := parse(t, "run/a.go", "package run\nimport \"os\"\nfunc f() { os.Open(\"a\"); os.Rename(\"a\", \"b\"); os.Stat(\"a\"); g := os.ReadFile; _ = g }\n")
	if got := fileUses(s); len(got) != 3 {
		t.Errorf("found %q, want three uses", got)
	}
	for name, want := range map[string]string{"run/a.go": "", "lab/engine/a.go": "lab", "capacity/sizetest/a.go": "capacity/sizetest",
		"capacity/a.go": "", "record/hold.go": "record/hold.go", "record/open.go": ""} {
		if got := owner(name); got != want {
			t.Errorf("the owner of %s is %q, want %q", name, got, want)
		}
	}
}
