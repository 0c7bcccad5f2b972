package repotest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule lists the packages of this module that a folder may import.
type rule struct {
	may    []string // "store" is one folder, "store/..." includes all folders below it
	reason string
}

// rooms are the import rules. The longest matching folder counts. ARCHITECTURE.md has the same table.
var rooms = map[string]rule{
	"workload": {nil, "a workload generates the same operations for all targets and schedules"},
	"workload/own": {[]string{"workload", "spec"},
		"a workload file is read like a specification and compiled to a workload"},
	"measure": {[]string{"measure/stats"}, "measurement must not depend on the measured target"},
	"server":  {nil, "the properties of a server do not depend on the package that queries them"},
	"workload/recorded": {[]string{"workload", "workload/own", "spec"},
		"a recording is made of what others read, and becomes a workload file; connections are in workload/capture"},
	"workload/capture": {[]string{"workload/recorded", "server"},
		"a capture asks a deployment; what is made of the answers is in workload/recorded"},
	"server/ftdc": {[]string{"server"}, "a reader of files does not depend on who uses the samples"},
	"store": {[]string{"workload", "server"},
		"a store sends requests; schedules, clocks and counters are in load and measure"},
	"store/...": {[]string{"store", "workload", "server"},
		"an implementation of store.Session depends on the interface and the requests, not on other implementations"},
	"store/storetest": {[]string{"store", "workload"},
		"the conformance suite tests all stores through the interface only"},
	"load": {[]string{"workload", "store", "measure"},
		"load uses interfaces, so the same code loads all stores with all workloads"},
	"measure/anatomy": {[]string{"measure"},
		"where time went follows from counters and latencies; it does not know how they were read"},
	"measure/limit": {[]string{"measure/anatomy"},
		"a limit follows from the steps of a ladder; it does not know how they were made"},
	"measure/stats": {nil, "statistics work on numbers without their meaning"},
	"spec":          {[]string{"measure"}, "specifications can be read and validated without the code that runs them"},
	"fault":         {[]string{"spec", "lab/faultfs"}, "the catalogue of faults breaks nothing"},
	"record": {[]string{"fault", "measure/...", "server", "spec"},
		"old records must be readable without the code that generates load"},
	"record/remote": {nil, "a store of a CI system keeps directories; it does not know what is in them"},
	"record/schema": {nil, "the schemas are data for other programs"},
	"record/schema/gen": {[]string{"record", "spec", "workload/own"},
		"the generator makes the schemas from the types of records and files only"},
	"run": {[]string{"workload/...", "store/...", "load", "measure", "record", "spec", "lab/...",
		"run/observe", "server", "disk/device"}, "a run connects these packages; reports read its records, and only cmd starts it"},
	"fleet": {[]string{"run", "load", "workload", "measure", "record", "spec"},
		"it divides one run among load agents and merges their records; who places and carries them is below it"},
	"fleet/...": {[]string{"fleet"},
		"a placer starts agents and carries frames; it does not know what is in them"},
	"fleet/fleettest": {[]string{"fleet", "run", "load", "measure", "record", "spec", "store"},
		"it tests links, and agents that play a load known in advance; it is not in the program"},
	"run/observe": {[]string{"store/...", "measure/...", "record", "lab/...", "server/..."},
		"machines and servers are sampled without knowledge of the load"},
	"study": {[]string{"study/search", "run", "record", "spec", "measure/...", "workload/...", "store", "published"},
		"a plan is made before anything runs, and validates the runs"},
	"loadline": {[]string{"campaign", "drill", "fault", "study/procedure", "study/search", "run", "record",
		"spec", "measure/...", "server"}, "a line consists of runs and drills; the search is that of studies"},
	"campaign":                     {[]string{"record", "run", "measure"}, "a queue of jobs does not know what the jobs do"},
	"campaign/campaigntest":        {nil, "it kills campaigns of any kind"},
	"study/...":                    {[]string{"study/...", "campaign", "fleet", "run/...", "record", "spec", "measure/...", "workload", "store"}, "a study consists of runs and generates no load itself"},
	"study/judge":                  {[]string{"record", "spec", "measure/..."}, "verdicts depend on records only, so they can be computed again"},
	"study/search":                 {nil, "a search is a pure function of the outcomes of its steps"},
	"study/procedure":              {[]string{"study", "study/search", "record", "spec", "measure/..."}, "a procedure sees trials through study.Runner, so it can be tested against simulated targets"},
	"capacity":                     {[]string{"record", "spec", "measure/...", "workload/..."}, "sizes depend on records and on the operations of the workload"},
	"capacity/predict":             {[]string{"capacity", "capacity/simulate", "lab/faultfs", "measure/...", "published", "record", "spec"}, "predictions depend on records and on published figures, of disks too"},
	"capacity/simulate":            {[]string{"measure"}, "a simulation has times from its caller and knows no records"},
	"capacity/predict/lawtest":     {[]string{"capacity", "capacity/predict"}, "its laws share no code with what they test"},
	"capacity/sizetest":            {[]string{"record", "spec", "measure"}, "synthetic records have the types of real ones"},
	"published":                    {nil, "statements of documents do not depend on measurements"},
	"ycsb":                         {[]string{"ycsb/...", "workload", "store/...", "load", "measure", "record", "spec", "run"}, "YCSB's command line is another front end of runs, which use the same code"},
	"ycsb/ycsbtext":                {[]string{"measure"}, "YCSB output depends on counts and histograms only, of a run or of a record"},
	"serve":                        {[]string{"record", "spec", "measure", "report/...", "published"}, "pages show records, including incomplete ones"},
	"report":                       {[]string{"fault", "record", "spec", "measure/...", "published", "study/judge", "suite/judge", "capacity", "capacity/predict", "report/chart", "report/course"}, "a report depends on records only, so new and old runs use the same code; results without verdicts are judged when they are read, and figures have the scaling law of capacity and backtests"},
	"report/...":                   {[]string{"record", "spec", "measure"}, "records for tests are made of the types of records only"},
	"report/chart":                 {nil, "a chart draws numbers and does not know what they mean"},
	"report/course":                {[]string{"record", "measure"}, "the course of a run is read from its record"},
	"report/html":                  {[]string{"report", "report/chart"}, "a page draws a document and knows no kinds of records"},
	"lab":                          {[]string{"fault", "lab/...", "record", "spec", "server"}, "the lab starts servers; other packages decide on the load"},
	"lab/...":                      {[]string{"fault", "lab/...", "record", "spec", "server"}, "the lab starts servers; other packages decide on the load"},
	"lab/action":                   {[]string{"fault", "lab/host", "lab/volume", "lab/engine", "lab/topology", "lab/faultfs", "record", "spec"}, "an action changes the parts of a lab; the supervisor keeps the list of faults"},
	"lab/faultfs":                  {nil, "a disk does not depend on its users or on the source of its faults"},
	"lab/process":                  {nil, "starting and stopping a process does not depend on its purpose"},
	"lab/journal":                  {nil, "newer versions must be able to remove labs of older ones"},
	"disk":                         {[]string{"disk/...", "record", "spec", "measure/...", "lab/faultfs", "server"}, "a probe measures storage without a database and its load"},
	"disk/...":                     {[]string{"disk/...", "record", "spec", "measure/...", "lab/faultfs", "server"}, "a probe measures storage without a database and its load"},
	"platform/maintenance":         {[]string{"platform", "fault", "record", "run", "server", "spec", "store/shards"}, "an event uses commands of MongoDB and the actions of a platform"},
	"drill":                        {[]string{"drill/...", "platform", "platform/maintenance", "fault", "fleet", "lab/...", "run/...", "load", "store/...", "workload", "measure/...", "record", "spec", "server"}, "a drill is a run with faults: it connects load, faults and ledger"},
	"drill/...":                    {[]string{"drill/...", "load", "store", "workload", "measure", "record"}, "a ledger has writes and answers, not faults"},
	"suite":                        {[]string{"suite/fit", "suite/judge", "campaign", "study", "study/conduct", "study/judge", "drill", "disk", "run", "store", "store/embedded", "measure", "record", "spec", "published"}, "a suite runs studies, drills and probes; it generates no load and decides no verdict itself"},
	"suite/judge":                  {[]string{"record", "spec", "measure/...", "published"}, "verdicts of a suite depend on records only, so they can be computed again"},
	"suite/fit":                    {[]string{"study", "record", "spec"}, "scaling to a time depends on specifications only, so it is the same on all machines"},
	"platform":                     {[]string{"fault", "lab", "lab/action", "lab/journal", "record", "run", "server", "spec"}, "a fault depends on what it breaks, not on the load; a run knows how members are addressed"},
	"platform/command":             {[]string{"platform", "fault", "spec"}, "commands break a deployment"},
	"platform/vsphere":             {[]string{"platform", "fault", "record", "spec"}, "vCenter breaks a deployment"},
	"platform/vsphere/vspheretest": {nil, "it simulates a vCenter, which does not know its users; it is not in the program"},
	"platform/kubernetes":          {[]string{"platform", "fault", "lab/journal", "record", "server", "spec"}, "requests to the API break a deployment; its labs are in the journal of labs"},
	"internal/nearest":             {nil, "all packages use it"},
	"internal/...":                 {nil, "all packages use it"},
	"internal/kubetest":            {[]string{"lab/host", "lab/process"}, "a cluster for tests uses the lab's processes and control groups"},
	"deploy":                       {nil, "the chart is data"},
	"tools/image":                  {nil, "a tool is a program of another module"},
	"tools/release":                {nil, "a tool is a program of another module"},
	"fleet/kubernetes":             {[]string{"fleet", "deploy"}, "a placer starts agents; it does not know what they do"},
	"cmd/...":                      {[]string{"..."}, ""},
	"e2e/...":                      {[]string{"..."}, ""},
	"bench/...":                    {[]string{"..."}, ""},
	"liars/...":                    {[]string{"..."}, ""},
	"examples/...":                 {[]string{"examples/...", "store"}, "users copy examples, so examples need almost nothing of this module"},
}

// everyone may be imported by all packages.
var everyone = []string{"internal/..."}

func matches(pattern, folder string) bool {
	if pattern == "..." || pattern == folder {
		return true
	}
	base, all := strings.CutSuffix(pattern, "/...")
	return all && (folder == base || strings.HasPrefix(folder, base+"/"))
}

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

func badImports(s source) []string {
	var bad []string
	r, known := ruleFor(s.folder())
	if !known {
		return []string{fmt.Sprintf("%s: the folder %s has no import rule: add one to internal/repotest and to the table in ARCHITECTURE.md", s.name, s.folder())}
	}
	allowed := slices.Concat(r.may, everyone, []string{s.folder()})
	for _, imp := range s.file.Imports {
		target, err := strconv.Unquote(imp.Path.Value)
		folder, ours := strings.CutPrefix(target, module)
		if err != nil || !ours {
			continue
		}
		if !slices.ContainsFunc(allowed, func(p string) bool { return matches(p, folder) }) {
			bad = append(bad, fmt.Sprintf("%s imports %s, which %s must not import: %s", s.at(imp.Pos()), folder, s.folder(), r.reason))
		}
	}
	return bad
}

// Tests may import anything: a test of load uses a store, for example.
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
		{"lab/a.go", "platform", true},
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

// testLibraries are refused: tests use one style.
var testLibraries = []string{"github.com/stretchr/testify", "github.com/onsi/", "gotest.tools"}

func TestNoAssertionLibrary(t *testing.T) {
	for _, s := range sources(t) {
		for _, imp := range s.file.Imports {
			for _, lib := range testLibraries {
				if strings.HasPrefix(strings.Trim(imp.Path.Value, `"`), lib) {
					t.Errorf("%s imports %s: use package testing and go-cmp in tests", s.at(imp.Pos()), imp.Path.Value)
				}
			}
		}
	}
}
