package repotest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule says what the packages in a folder may import of this module.
type rule struct {
	may    []string // folders; "store" means store alone, "store/..." everything in it
	reason string
}

// rooms are the import rules. The longest folder that fits a package counts. ARCHITECTURE.md shows them as a table.
var rooms = map[string]rule{
	"workload":          {nil, "a workload says what to do; it must give the same operations whatever they are sent to and however they are timed"},
	"measure":           {[]string{"measure/stats"}, "what measures must not depend on what is measured"},
	"server":            {nil, "what a server says of itself does not depend on who asks, so that everybody who asks has the same answer"},
	"store":             {[]string{"workload", "server"}, "a store sends requests; schedules, clocks and counters belong to load and measure"},
	"store/...":         {[]string{"store", "workload", "server"}, "an implementation of store.Session knows the contract and the requests, and no other implementation"},
	"store/storetest":   {[]string{"store", "workload"}, "the conformance suite judges every store by the contract alone"},
	"load":              {[]string{"workload", "store", "measure"}, "load works on the interfaces, so that every store and workload is loaded by the same code"},
	"measure/stats":     {nil, "statistics are mathematics: they know numbers, not what they mean"},
	"spec":              {[]string{"measure"}, "what people ask can be read and checked without anything that answers it"},
	"record":            {[]string{"measure", "spec"}, "a record of last year must be readable without any code that makes load"},
	"record/schema":     {nil, "the schemas are data for other programs"},
	"record/schema/gen": {[]string{"record", "spec"}, "the generator makes the schemas out of the types of record and of nothing else"},
	"run":               {[]string{"workload", "store/...", "load", "measure", "record", "spec", "lab/...", "run/observe", "server"}, "a run joins these rooms; reports read what it recorded, and only cmd starts it"},
	"run/fleet":         {[]string{"run/...", "load", "measure", "record", "spec"}, "several load processes are one run: it starts them, and merges what they recorded"},
	"run/observe":       {[]string{"store/...", "measure", "record", "lab/...", "server"}, "what machines and servers do beside the load is sampled without knowing the load"},
	"study":             {[]string{"run", "record", "spec", "measure/...", "workload", "store", "published"}, "a plan is made before anything runs, and knows how to check what could run"},
	"study/...":         {[]string{"study/...", "run/...", "record", "spec", "measure/...", "workload", "store"}, "a study wraps around runs; it makes no load of its own"},
	"study/judge":       {[]string{"record", "spec", "measure/..."}, "what is different is judged from records alone, so that it can be judged again"},
	"study/procedure":   {[]string{"study", "record", "spec", "measure/..."}, "a procedure sees trials through study.Runner, so that it can be held against known truths"},
	"capacity":          {[]string{"record", "spec", "measure/...", "workload"}, "sizes follow from records and from what the workload will ask for"},
	"capacity/sizetest": {[]string{"record", "spec", "measure"}, "made-up records are records like others"},
	"published":         {nil, "what documents state does not depend on what anybody measures"},
	"ycsb":              {[]string{"ycsb/...", "workload", "store/...", "load", "measure", "record", "spec", "run"}, "YCSB's command line is one more way to ask for a run; what is not YCSB's own is the code of every run"},
	"ycsb/ycsbtext":     {[]string{"measure"}, "what YCSB prints is made from counts and histograms alone, whether they come from a run or from a record"},
	"serve":             {[]string{"record", "spec", "measure", "report/...", "published"}, "a page shows records, also those that are still being written"},
	"report":            {[]string{"record", "spec", "measure", "published", "suite/judge"}, "a report is made from records only, so the run that just ended and one of last year go the same way; a suite that is not judged yet is judged when it is read"},
	"report/...":        {[]string{"record", "spec", "measure", "report", "published"}, "a report is made from records only, so the run that just ended and one of last year go the same way"},
	"report/html":       {[]string{"record", "spec", "measure/...", "report/...", "published", "capacity", "suite/judge"}, "a page is made from records only; the law of scaling that it draws is the one that sizes follow from"},
	"report/html/...":   {[]string{"record", "spec", "measure", "report/...", "published"}, "a page is made from records only, out of parts of its own: charts, the course of a run"},
	"lab":               {[]string{"lab/...", "record", "spec", "server"}, "the lab starts servers; which load they get is decided by others"},
	"lab/...":           {[]string{"lab/...", "record", "spec", "server"}, "the lab starts servers; which load they get is decided by others"},
	"lab/action":        {[]string{"lab/host", "lab/volume", "lab/engine", "lab/topology", "lab/faultfs", "record", "spec"}, "an action knows the parts of a lab that it is done to; which are in place is known to the supervisor"},
	"lab/faultfs":       {nil, "a disk does not know what stands on it, nor who breaks it and why"},
	"lab/process":       {nil, "how a process is started and ended does not depend on what it is for"},
	"lab/journal":       {nil, "a later version must be able to remove what an older one made"},
	"disk":              {[]string{"disk/...", "record", "spec", "measure/...", "lab/faultfs", "server"}, "a probe measures storage without a database and without the load of one"},
	"disk/...":          {[]string{"disk/...", "record", "spec", "measure/...", "lab/faultfs", "server"}, "a probe measures storage without a database and without the load of one"},
	"drill":             {[]string{"drill/...", "fault", "lab/...", "run/...", "load", "store/...", "workload", "measure/...", "record", "spec", "server"}, "a drill is a run with something broken in it: it joins load, faults and ledger"},
	"drill/...":         {[]string{"drill/...", "load", "store", "workload", "measure", "record"}, "a ledger knows writes and answers, not what broke"},
	"suite":             {[]string{"suite/fit", "suite/judge", "study", "study/conduct", "study/judge", "drill", "disk", "run", "store", "store/embedded", "measure", "record", "spec", "published"}, "a suite puts studies, drills and probes one after the other; it makes no load and no verdict of its own"},
	"suite/judge":       {[]string{"record", "spec", "measure/...", "published"}, "what a suite is worth is judged from records alone, so that it can be judged again, whoever reads it"},
	"suite/fit":         {[]string{"study", "record", "spec"}, "what fits into a time follows from specifications, so that the same parts give the same suite on every machine"},
	"fault":             {[]string{"lab", "lab/action", "record", "spec"}, "a fault knows what it breaks, and not which load feels it"},
	"internal/nearest":  {nil, "it is used from everywhere"},
	"internal/...":      {nil, "it is used from everywhere"},
	"cmd/...":           {[]string{"..."}, ""},
	"e2e/...":           {[]string{"..."}, ""},
	"bench/...":         {[]string{"..."}, ""},
	"examples/...":      {[]string{"examples/...", "store"}, "an example is read and copied by others, so it needs next to nothing of this module"},
}

// everyone may be imported from every room.
var everyone = []string{"internal/..."}

// matches says whether a folder is meant by a pattern of the rules.
func matches(pattern, folder string) bool {
	if pattern == "..." || pattern == folder {
		return true
	}
	base, all := strings.CutSuffix(pattern, "/...")
	return all && (folder == base || strings.HasPrefix(folder, base+"/"))
}

// ruleFor finds the rule of a folder, and whether there is one.
func ruleFor(folder string) (rule, bool) {
	best := ""
	for pattern := range rooms {
		exact := pattern == folder
		if matches(pattern, folder) && (exact || best != folder && len(pattern) > len(best)) {
			best = pattern
		}
	}
	return rooms[best], best != ""
}

// badImports lists what a file imports against the rules, with the reason.
func badImports(s source) []string {
	var bad []string
	r, known := ruleFor(s.folder())
	if !known {
		return []string{fmt.Sprintf("%s: the folder %s has no import rule: add it to internal/repotest and to the table in ARCHITECTURE.md", s.name, s.folder())}
	}
	allowed := slices.Concat(r.may, everyone, []string{s.folder()})
	for _, imp := range s.file.Imports {
		target, err := strconv.Unquote(imp.Path.Value)
		folder, ours := strings.CutPrefix(target, module)
		if err != nil || !ours {
			continue
		}
		if !slices.ContainsFunc(allowed, func(p string) bool { return matches(p, folder) }) {
			bad = append(bad, fmt.Sprintf("%s imports %s, which %s may not: %s", s.at(imp.Pos()), folder, s.folder(), r.reason))
		}
	}
	return bad
}

// Tests may import what they need: a test of load uses a store, and the driver is judged against the wire.
func TestImportRules(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, bad := range badImports(s) {
			t.Error(bad)
		}
	}
}

func TestImportRulesAreChecked(t *testing.T) {
	for _, c := range []struct {
		file, imports string
		bad           bool
	}{
		{"workload/a.go", "store", true},
		{"measure/a.go", "workload", true},
		{"measure/a.go", "internal/nearest", false},
		{"store/a.go", "workload", false},
		{"store/a.go", "store/wire", true},
		{"store/wire/a.go", "store", false},
		{"store/wire/a.go", "store/mongo", true},
		{"server/a.go", "store", true},
		{"report/a.go", "load", true},
		{"ycsb/ycsbtext/a.go", "measure", false},
		{"ycsb/ycsbtext/a.go", "record", true},
		{"report/a.go", "published", false},
		{"run/a.go", "published", true},
		{"published/a.go", "record", true},
		{"lab/engine/a.go", "load", true},
		{"lab/a.go", "fault", true},
		{"lab/action/a.go", "lab", true},
		{"lab/topology/a.go", "lab/engine", false},
		{"cmd/plimsoll/a.go", "lab/engine", false},
		{"kitchen/a.go", "measure", true},
	} {
		s := parse(t, c.file, fmt.Sprintf("package a\nimport _ %q\n", module+c.imports))
		if bad := badImports(s); (len(bad) > 0) != c.bad {
			t.Errorf("%s importing %s: found %q, want a complaint: %v", c.file, c.imports, bad, c.bad)
		}
	}
}

// testLibraries are refused: two ways to write a test are one too many.
var testLibraries = []string{"github.com/stretchr/testify", "github.com/onsi/", "gotest.tools"}

func TestNoAssertionLibrary(t *testing.T) {
	for _, s := range sources(t) {
		for _, imp := range s.file.Imports {
			for _, lib := range testLibraries {
				if strings.HasPrefix(strings.Trim(imp.Path.Value, `"`), lib) {
					t.Errorf("%s imports %s: tests are written with plain testing and go-cmp", s.at(imp.Pos()), imp.Path.Value)
				}
			}
		}
	}
}
