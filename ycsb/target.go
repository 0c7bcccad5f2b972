package ycsb

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
)

// defaultURL is the address of YCSB's MongoDB binding without mongodb.url.
const defaultURL = "mongodb://localhost:27017/ycsb?w=1"

// target is the target of the MongoDB binding.
type target struct {
	address  mongouri.Address // with the options of the old properties
	url      string           // address as text
	database string
	notes    []string // for standard error
}

func (u *target) note(format string, a ...any) { u.notes = append(u.notes, fmt.Sprintf(format, a...)) }

// targetFrom builds the address from mongodb.url and the old properties. The address overrides old properties.
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
	known, notes, err := address.Known()
	if err != nil {
		return nil, failed(Usage, fmt.Errorf("mongodb.url: %w", err))
	}
	u := &target{address: known, database: "ycsb", notes: notes}
	if name := address.Database(); isGiven && name != "" && name != "admin" {
		u.database = name
	}
	u.addOldProperties(p)
	u.sizePool(threads)
	u.url = u.address.String()
	return u, nil
}

func (u *target) add(name, value string) {
	if _, ok := u.address.Option(name); !ok {
		u.address.Set(name, value)
	}
}

// urlOption is the option of the address for a value of an old property.
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
		u.note("mongodb.threadsAllowedToBlockForConnectionMultiplier is ignored: current drivers do not limit that queue")
	}
	u.addChoice(p, "mongodb.writeConcern", oldWriteConcerns,
		"errors_ignored, unacknowledged, acknowledged, journaled, replica_acknowledged, majority")
	u.addChoice(p, "mongodb.readPreference", oldReadPreferences,
		"primary, primary_preferred, secondary, secondary_preferred, nearest")
}

// addChoice adds the option for a value of an old property. Like YCSB, it ignores unknown values and values that the
// address contradicts, but it notes that.
func (u *target) addChoice(p *properties, property string, choices map[string]urlOption, names string) {
	value, ok := p.values[property]
	if !ok {
		return
	}
	o, ok := choices[strings.ToLower(value)]
	if !ok {
		u.note("%s=%s is ignored, as in YCSB: the value is unknown (known: %s)", property, value, names)
		return
	}
	if has, ok := u.address.Option(o.name); ok && has != o.value {
		u.note("%s=%s has no effect, as in YCSB: the address has %s=%s", property, value, o.name, has)
		return
	}
	u.add(o.name, o.value)
}

// javaPoolSize is the default size of the connection pool of the Java driver.
const javaPoolSize = 100

// sizePool sets the pool to the number of threads, or to the default of the Java driver if that is more.
func (u *target) sizePool(threads int) {
	if size, ok := u.address.Option("maxPoolSize"); ok {
		if n, err := strconv.Atoi(size); err == nil && n > 0 && n < threads {
			u.note("maxPoolSize=%d is less than the %d threads: they wait for connections, and the wait is part of the latencies",
				n, threads)
		}
		return
	}
	if threads > javaPoolSize {
		u.note("the connection pool has a connection for each of the %d threads; YCSB's has %d, and the wait of the other "+
			"threads is part of their latencies (for the same: -p mongodb.maxconnections=%d)",
			threads, javaPoolSize, javaPoolSize)
	}
	u.add("maxPoolSize", strconv.Itoa(max(javaPoolSize, threads)))
}
