package repotest

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// reading are the functions of internal/safeopen that open a file by its name. [TestFilesAreOpenedInOnePlace] says who
// opens files without them.
var reading = []string{"Open", "OpenIn", "OpenFile", "OpenInput", "OpenLimited", "ReadFile", "ReadPath", "ReadInput", "ReadSecret",
	"ReadSecretInput", "CheckSecret"}

// permitted are the files that open what a specification, a record or an address names, with the file that asks the
// permit of the context before. Where the file is part of a connection, the permit to connect is asked.
var permitted = map[string]string{
	"cmd/plimsoll/capacity_now.go": "cmd/plimsoll/capacity_now.go",
	"platform/vsphere/client.go":   "platform/vsphere/backend.go",
	"run/observing.go":             "run/observing.go",
	"server/ftdc/ftdc.go":          "cmd/plimsoll/disk_doctor.go",
	"run/observe/metrics.go":       "run/observing.go",
	"store/wire/tls.go":            "run/target.go",
}

// unpermitted are the files, and the folders with those below them, that open files without a permit, with the reason.
var unpermitted = map[string]string{
	"record": "files of records, with fixed names below their directories",
	"report": "files of records, with fixed names below their directories",
	"serve":  "files of records, and the token that the command line names",
	"suite":  "the parts of a suite, regular files below its folder, which are what its commands are about",

	"spec/workload_file.go": "the workload file of a specification, which is part of it: a plan is about it too",
	"study/data.go":         "the histogram of field lengths of a workload, without which its documents have no size",
	"run/spec.go":           "the histogram of field lengths and the recording of a workload, which are part of it",

	"drill/discarded.go":             "files of members that the drill has broken",
	"fleet/files.go":                 "the record that this agent has made",
	"fleet/nats/agent.go":            "the identity of this machine",
	"fleet/nats/connect.go":          "credentials and certificates that the command line names",
	"fleet/nats/state.go":            "the directory of a coordinator of this user",
	"fleet/resume.go":                "the directory of a coordinator of this user",
	"fleet/ssh/ssh.go":               "the directory of a coordinator of this user",
	"internal/mac/mac.go":            "the key of this user",
	"internal/scratch/scratch.go":    "temporary directories of this user",
	"lab/engine/certificate.go":      "the directory of a lab of this user",
	"lab/engine/download.go":         "the archive of an engine, which the command line names",
	"lab/engine/mongod_signature.go": "the key of an archive, which the command line names",
	"platform/kubernetes/lab.go":     "the directory of a lab of this user",
	"run/ceiling.go":                 "the directory of this user",
	"run/lab.go":                     "the directory of a lab of this user",
	"ycsb/properties.go":             "property files that the command line names",
	"ycsb/ycsb.go":                   "files that the properties of the command line name",

	"cmd/plimsoll/address.go":              "files that the command line names",
	"cmd/plimsoll/agent.go":                "the token that the command line names",
	"cmd/plimsoll/known.go":                "the list of records of this user",
	"cmd/plimsoll/agents.go":               "directories of coordinators of this user",
	"cmd/plimsoll/agents_kubernetes.go":    "the token that the command line names",
	"cmd/plimsoll/ci.go":                   "files that the command line names",
	"cmd/plimsoll/engine.go":               "the password file that the command line names",
	"cmd/plimsoll/lab_logs.go":             "logs of a lab of this user",
	"cmd/plimsoll/platform_watch.go":       "the journal of a platform of this user",
	"cmd/plimsoll/workload_compare.go":     "files that the command line names",
	"cmd/plimsoll/workload_profiler.go":    "the state of a profiler of this user",
	"cmd/plimsoll/workload_verify_left.go": "the database that a verification of this user left",
	"cmd/plimsoll/workload_record.go":      "files that the command line names",
}

// readings lists where a file opens others through internal/safeopen.
func readings(s source) (uses []string) {
	if !imported(s, module+"internal/safeopen") {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "safeopen" && slices.Contains(reading, sel.Sel.Name) {
			uses = append(uses, fmt.Sprintf("%s: safeopen.%s", s.at(sel.Pos()), sel.Sel.Name))
		}
		return true
	})
	return uses
}

func imported(s source, path string) bool {
	return slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+path+`"` })
}

// A plan reads no file that a specification or a record names: every place that opens one is known, with who asks
// whether it may, or why nobody has to.
func TestFilesAreReadInKnownPlaces(t *testing.T) {
	used, asking := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		asking[s.name] = asks(s, "Read", "Dial")
		if s.isTest() || s.folder() == "internal/safeopen" {
			continue
		}
		uses := readings(s)
		if len(uses) == 0 {
			continue
		}
		used[s.name] = true
		key := keyOf(unpermitted, s.name)
		used[key] = true
		if permitted[s.name] == "" && key == "" {
			for _, use := range uses {
				t.Errorf("%s: if a specification or a record names the file, ask the permit of the context (permit.Read) before, and add "+
					"the file to permitted in internal/repotest", use)
			}
		}
	}
	for file, by := range permitted {
		if !asking[by] {
			t.Errorf("%s opens files, but %s does not ask whether it may", file, by)
		}
		if !used[file] || keyOf(unpermitted, file) != "" {
			t.Errorf("the entry of %s in permitted is not needed: remove it", file)
		}
	}
	for key := range unpermitted {
		if !used[key] {
			t.Errorf("the entry of %s in unpermitted is not needed: remove it", key)
		}
	}
}

func TestReadingsAreFound(t *testing.T) {
	s := parse(t, "run/a.go", "package run\nimport \"github.com/plimsoll-bench/plimsoll/internal/safeopen\"\n"+
		"func f() { safeopen.ReadPath(n, 1); f := safeopen.OpenFile; _ = f; safeopen.Unmarshal(b, v); safeopen.Exists(d, n) }\n")
	if got := readings(s); len(got) != 2 {
		t.Errorf("found %q, want two uses", got)
	}
}
