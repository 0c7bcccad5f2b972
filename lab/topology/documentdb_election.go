package topology

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// elections are the presets of topology.election: Patroni's defaults, and the shortest times that Patroni accepts. With
// primary_start_timeout 0, a primary whose PostgreSQL is dead gives its lease away instead of restarting PostgreSQL.
var elections = map[string]map[string]any{
	"elect-default": {"ttl": 30, "loop_wait": 10, "retry_timeout": 10},
	"elect-fast":    {"ttl": 20, "loop_wait": 1, "retry_timeout": 3, "primary_start_timeout": 0},
}

// patroniNumbers and patroniSwitches are the settings of Patroni that topology.settings may have. The numbers have a
// minimum.
var (
	patroniNumbers = map[string]int{"ttl": 20, "loop_wait": 1, "retry_timeout": 3, "primary_start_timeout": 0,
		"primary_stop_timeout": 0, "maximum_lag_on_failover": 0, "maximum_lag_on_syncnode": -1}
	patroniSwitches = []string{"check_timeline", "failsafe_mode", "synchronous_mode_strict"}
)

// patroniSettings returns Patroni's settings of a set. In quorum mode Patroni promotes only a standby that certainly
// has every commit that a standby has acknowledged. In strict mode commits that wait for standbys also wait when there
// are none.
func patroniSettings(asked spec.Lab) (map[string]any, error) {
	t := asked.Topology
	preset, ok := elections[t.Election]
	if !ok && t.Election != "" {
		return nil, unknownElection(t)
	}
	if !ok {
		preset = elections["elect-default"]
	}
	all := maps.Clone(preset)
	all["synchronous_mode"], all["synchronous_mode_strict"] = "quorum", true
	all["synchronous_node_count"] = syncStandbys(asked)
	for name, value := range t.Settings {
		least, number := patroniNumbers[name]
		n, err := strconv.Atoi(value)
		switch {
		case slices.Contains(patroniSwitches, name) && (value == "true" || value == "false"):
			all[name] = value == "true"
		case slices.Contains(patroniSwitches, name):
			return nil, fmt.Errorf("topology.settings.%s: %q is neither true nor false", name, value)
		case !number:
			return nil, fmt.Errorf("topology.settings.%s: documentdb has only these settings of Patroni: %s", name,
				strings.Join(append(slices.Sorted(maps.Keys(patroniNumbers)), patroniSwitches...), ", "))
		case err != nil || n < least:
			return nil, fmt.Errorf("topology.settings.%s: %q is not a number of at least %d", name, value, least)
		default:
			all[name] = n
		}
	}
	ttl, loop, retry := all["ttl"].(int), all["loop_wait"].(int), all["retry_timeout"].(int)
	if loop+2*retry > ttl {
		return nil, fmt.Errorf("topology.settings: loop_wait (%d s) and twice retry_timeout (%d s) exceed ttl (%d s); "+
			"Patroni would change them", loop, retry, ttl)
	}
	return all, nil
}

func unknownElection(t spec.Topology) error {
	return fmt.Errorf("topology.election: unknown preset %q; use elect-default or elect-fast", t.Election)
}

// electionText says what decides about the primary of a set.
func electionText(settings map[string]any) string {
	note := fmt.Sprintf("Patroni, with the primary's lease in etcd: ttl %d s, loop_wait %d s, "+
		"retry_timeout %d s", settings["ttl"], settings["loop_wait"], settings["retry_timeout"])
	if n, ok := settings["primary_start_timeout"]; ok {
		note += fmt.Sprintf(", primary_start_timeout %d s", n)
	}
	if settings["failsafe_mode"] == true {
		note += ", failsafe_mode"
	}
	return note + "; no watchdog"
}
