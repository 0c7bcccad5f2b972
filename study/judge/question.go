package judge

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// role says what a difference between two sides means for their comparison.
type role int

// The roles, the gravest last. A thing has the gravest role of its differences.
const (
	// noted differences do not change the result.
	noted role = iota
	// place may be another name of the same machine. It may be the cause only where a setting is compared.
	place
	// circumstance should be equal. It is what is compared if no other thing differs.
	circumstance
	// setting is what people change to see what it does. It is what is compared if no other thing differs; a second thing
	// may be the cause as well, so it forbids the comparison.
	setting
	// forbidden differences leave nothing to compare: another load, or another load generator.
	forbidden
)

// weight is the role of a difference and the reason. Differences of one thing belong together: "" is the path itself.
type weight struct {
	role       role
	thing, why string
}

// weights apply to paths and everything below them. The longest matching path counts. This table is the boundary
// between what can be compared and what cannot; docs/compare.md has it in words.
var weights = map[string]weight{
	"":                            {circumstance, "", ""},
	"workload":                    {forbidden, "workload", "other operations on other data"},
	"workload.seed":               {noted, "", "other keys in the same proportions"},
	"workload.records":            {forbidden, "workload.records", "more data fit into the caches less well"},
	"data.records":                {forbidden, "workload.records", "more data fit into the caches less well"},
	"scheduled":                   {forbidden, "load.rate", "an open and a closed loop measure different times"},
	"search":                      {forbidden, "search", "another objective has another line"},
	"load":                        {setting, "", "another load has other response times"},
	"load.workers":                {setting, "", "more workers, more throughput and longer response times"},
	"load.stages":                 {setting, "load.stages", "another load has other response times"},
	"load_phase":                  {noted, "", "how the data were loaded"},
	"capacity":                    {noted, "", "the load line that the study found"},
	"objectives":                  {noted, "", "objectives do not change the result"},
	"database":                    {noted, "", "a name"},
	"durability":                  {setting, "durability", "writes with a lower durability are faster and are lost more easily"},
	"client":                      {setting, "client", "the clients use different amounts of processor time"},
	"client_settings":             {circumstance, "client", "clients with other settings behave differently"},
	"client_settings.client":      {setting, "client", "the clients use different amounts of processor time"},
	"lab":                         {circumstance, "", "another lab"},
	"lab.hosts":                   {setting, "lab.hosts", "hosts with other limits"},
	"lab.hosts.count":             {circumstance, "lab.hosts", "members share hosts, or do not"},
	"lab.storage":                 {setting, "lab.storage", "another storage policy"},
	"lab.storage.dir":             {circumstance, "lab.storage", "possibly another disk"},
	"lab.engine":                  {setting, "lab.engine", "another server, or other settings of it"},
	"lab.version":                 {circumstance, "lab.engine", "another version of the server"},
	"lab.topology":                {setting, "lab.topology", "another cluster"},
	"lab.topology.election":       {circumstance, "lab.topology", "faster elections send more heartbeats"},
	"lab.availability":            {noted, "", "what happens when something fails"},
	"probe":                       {forbidden, "probe", "another load on the disk"},
	"probe.directory":             {noted, "", "a name"},
	"probe.devices":               {noted, "", "what is observed"},
	"probe.objectives":            {noted, "", "objectives do not change the result"},
	"probe.forced":                {noted, "", "how the directory was accepted"},
	"probe.seed":                  {noted, "", "other offsets and data of the same kind"},
	"storage":                     {circumstance, "storage", "another disk"},
	"storage.free":                {noted, "", "free space"},
	"storage.mount":               {noted, "", "a name"},
	"target":                      {circumstance, "target", "another deployment"},
	"target.address":              {place, "target", "another deployment, possibly an equal one"},
	"target.hosts":                {place, "target", "other members, possibly equal ones"},
	"target.set_name":             {noted, "", "a name"},
	"target.sharded":              {circumstance, "target", "the data are distributed in another way"},
	"target.version":              {circumstance, "target", "another version of the server"},
	"target.settings":             {circumstance, "target", "the server has other settings"},
	"target.settings.wal_sync":    {circumstance, "durability", "it follows from the durability"},
	"target.settings.directory":   {noted, "", "a name"},
	"environment":                 {circumstance, "environment", "another machine, or other settings of it"},
	"environment.cpu":             {forbidden, "environment", "another processor"},
	"environment.arch":            {forbidden, "environment", "another processor"},
	"environment.os":              {forbidden, "environment", "another operating system"},
	"environment.cores_available": {forbidden, "environment", "another number of cores"},
	"environment.cpu_threads":     {circumstance, "environment", "another number of cores in the machine"},
	"environment.host":            {place, "environment", "another machine, possibly an equal one"},
	"environment.go":              {noted, "", "built with another compiler"},
	"tool":                        {circumstance, "tool", "another version of plimsoll may measure differently"},
	"tool.go":                     {noted, "", "built with another compiler"},
}

func weigh(path string) weight {
	for p := path; ; {
		if w, ok := weights[p]; ok {
			if w.thing == "" {
				w.thing = path
			}
			return w
		}
		i := strings.LastIndexByte(p, '.')
		if i < 0 {
			return weight{circumstance, path, ""}
		}
		p = p[:i]
	}
}

// severity is that of a difference which is not what is compared.
func (w weight) severity() measure.Severity {
	switch w.role {
	case setting, forbidden:
		return measure.Invalid
	case circumstance:
		return measure.Warning
	}
	return measure.Note
}

// things are what the sides differ in and nobody varied, with the roles. target reports whether the target is known by
// itself, and does not follow from a lab.
func things(list []record.Difference, target bool) map[string]role {
	all := map[string]role{}
	for _, d := range list {
		w := weigh(d.What)
		if !d.Compared && w.role != noted && (target || w.thing != "target") {
			all[w.thing] = max(all[w.thing], w.role)
		}
	}
	return all
}

// ask finds what a comparison is about where nobody said it: the setting in which the sides differ if no other thing
// may be the cause, else the one circumstance, else the place. It marks its differences.
func ask(list []record.Difference, target bool) {
	all := things(list, target)
	of := map[role][]string{}
	for thing, r := range all {
		of[r] = append(of[r], thing)
	}
	about := ""
	switch {
	case len(of[forbidden]) > 0:
	case len(of[setting]) > 0:
		if len(all) == 1 {
			about = of[setting][0]
		}
	case len(of[circumstance]) == 1:
		about = of[circumstance][0]
	case len(of[circumstance]) == 0 && len(of[place]) == 1:
		about = of[place][0]
	}
	for i := range list {
		d := &list[i]
		switch w := weigh(d.What); {
		case w.role == noted || d.Compared || !target && w.thing == "target":
		case w.thing == about:
			d.Severity, d.Compared = measure.Note, true
		case w.role == place && len(of[setting]) > 0:
			d.Severity = measure.Warning
		}
	}
}

// Matters reports whether a difference in a key of the specification may change the result.
func Matters(path string) bool { return weigh(path).role > noted }

// Forbids returns why runs that differ in a key of their specification cannot be compared, "" if they can.
func Forbids(path string) string {
	if w := weigh(path); w.role == forbidden {
		return w.why
	}
	return ""
}
