package ycsb

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
)

// defaultURL is where YCSB's MongoDB binding connects without mongodb.url.
const defaultURL = "mongodb://localhost:27017/ycsb?w=1"

// target is the target of the MongoDB binding.
type target struct {
	address  mongouri.Address // with the options that the old properties stand for
	url      string           // the address
	database string
	notes    []string // for standard error
}

func (u *target) note(format string, a ...any) { u.notes = append(u.notes, fmt.Sprintf(format, a...)) }

// targetFrom builds the address from mongodb.url and the old properties beside it, which count only
// where the address does not say the same already.
func targetFrom(p *properties, threads int) (*target, error) {
	given, isGiven := p.values["mongodb.url"]
	if !isGiven {
		given = defaultURL
	}
	address, err := mongouri.Parse(given)
	if err != nil {
		return nil, hinted(Usage, fmt.Errorf("mongodb.url is not a MongoDB address: %w", err),
			"it has the form mongodb://host1:port1,host2:port2/database?options or mongodb+srv://host/database?options")
	}
	u := &target{address: address, database: "ycsb"}
	if name := address.Database(); isGiven && name != "" && name != "admin" {
		u.database = name
	}
	u.addOldProperties(p)
	u.dropUnsupported()
	u.sizePool(threads)
	u.url = u.address.String()
	return u, nil
}

// add adds an option unless the address has it.
func (u *target) add(name, value string) {
	if _, ok := u.address.Option(name); !ok {
		u.address.Set(name, value)
	}
}

// urlOption is an option of the address that a value of an old property stands for.
type urlOption struct{ name, value string }

var oldWriteConcerns = map[string]urlOption{
	"errors_ignored":       {"w", "0"},
	"unacknowledged":       {"w", "0"},
	"acknowledged":         {"w", "1"},
	"journaled":            {"journal", "true"},
	"replica_acknowledged": {"w", "2"},
	"majority":             {"w", "majority"},
}

var oldReadPreferences = map[string]urlOption{
	"primary":             {"readPreference", "primary"},
	"primary_preferred":   {"readPreference", "primaryPreferred"},
	"secondary":           {"readPreference", "secondary"},
	"secondary_preferred": {"readPreference", "secondaryPreferred"},
	"nearest":             {"readPreference", "nearest"},
}

func (u *target) addOldProperties(p *properties) {
	if n, ok := p.values["mongodb.maxconnections"]; ok {
		u.add("maxPoolSize", n)
	}
	if _, ok := p.values["mongodb.threadsAllowedToBlockForConnectionMultiplier"]; ok {
		u.note("mongodb.threadsAllowedToBlockForConnectionMultiplier is ignored: no driver limits that queue any more")
	}
	u.addChoice(p, "mongodb.writeConcern", oldWriteConcerns,
		"errors_ignored, unacknowledged, acknowledged, journaled, replica_acknowledged, majority")
	u.addChoice(p, "mongodb.readPreference", oldReadPreferences,
		"primary, primary_preferred, secondary, secondary_preferred, nearest")
}

// addChoice adds the option that a value stands for. YCSB ignores unknown values and values that the
// address contradicts; so do we, but we say so.
func (u *target) addChoice(p *properties, property string, choices map[string]urlOption, names string) {
	value, ok := p.values[property]
	if !ok {
		return
	}
	o, ok := choices[strings.ToLower(value)]
	if !ok {
		u.note("%s=%s is ignored, as in YCSB: it is none of %s", property, value, names)
		return
	}
	if has, ok := u.address.Option(o.name); ok && has != o.value {
		u.note("%s=%s has no effect, as in YCSB: the address says %s=%s", property, value, o.name, has)
		return
	}
	u.add(o.name, o.value)
}

// unsupportedOptions are options of old Java drivers that mean nothing today.
var unsupportedOptions = []string{"waitQueueMultiple", "slaveOk", "safe", "fsync"}

func (u *target) dropUnsupported() {
	for _, name := range unsupportedOptions {
		if u.address.Drop(name) {
			u.note("the option %s in mongodb.url is ignored: it is of a driver that is gone", name)
		}
	}
	if v, ok := u.address.Option("j"); ok { // the old name of journal
		u.address.Drop("j")
		u.add("journal", v)
	}
}

// javaPoolSize is the size of the connection pool of the Java driver where nothing sets it.
const javaPoolSize = 100

// sizePool makes the pool as large as the number of threads, or as the Java driver's if that is more.
func (u *target) sizePool(threads int) {
	if size, ok := u.address.Option("maxPoolSize"); ok {
		if n, err := strconv.Atoi(size); err == nil && n > 0 && n < threads {
			u.note("maxPoolSize=%d is less than the %d threads: they wait for connections, and the wait is part of the latencies", n, threads)
		}
		return
	}
	if threads > javaPoolSize {
		u.note("the connection pool has room for all %d threads; YCSB's holds %d, and the others wait inside their latencies (-p mongodb.maxconnections=%d does the same here)",
			threads, javaPoolSize, javaPoolSize)
	}
	u.add("maxPoolSize", strconv.Itoa(max(javaPoolSize, threads)))
}
