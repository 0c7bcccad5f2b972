package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// settingKinds are the settings of a replica set's configuration with the types of their values (manual: "Self-Managed
// Replica Set Configuration"). writeConcernMajorityJournalDefault is a field of the configuration itself, not of its
// settings.
var settingKinds = map[string]string{
	"chainingAllowed":                    "bool",
	"heartbeatIntervalMillis":            "int",
	"heartbeatTimeoutSecs":               "int",
	"electionTimeoutMillis":              "int",
	"catchUpTimeoutMillis":               "int",
	"catchUpTakeoverDelayMillis":         "int",
	"writeConcernMajorityJournalDefault": "bool",
}

// SettingNames are the settings of a replica set that a lab can have, sorted.
func SettingNames() []string { return slices.Sorted(maps.Keys(settingKinds)) }

// fastElection is the preset elect-fast: the values of Jepsen's tests of MongoDB, and four heartbeats within the
// election timeout. With the default heartbeat of 2 s a new primary considers a secondary dead after 1 s if it gets
// nothing else from it, as from one that waits for a sync source which was cut off, and steps down again:
// black-hole.yaml on 4.4.0 had outages of 11 s although there was a new primary after 2.1 s. elect-default sets
// nothing, so a set has the times of its release: 10 s until an election, 2 s between heartbeats.
var fastElection = map[string]string{
	"heartbeatIntervalMillis": "250", "heartbeatTimeoutSecs": "1", "electionTimeoutMillis": "1000",
	"catchUpTimeoutMillis": "1000", "catchUpTakeoverDelayMillis": "3000",
}

// SetSettings returns the settings of each replica set of MongoDB: the preset, overridden by topology.settings. A value
// is a bool or an int32. See also [settingKinds].
func (t *Topology) SetSettings() (map[string]any, error) {
	text := map[string]string{}
	if t.Election == "elect-fast" {
		maps.Copy(text, fastElection)
	}
	maps.Copy(text, t.Settings)
	values := map[string]any{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(text)) {
		v, err := settingValue(name, text[name])
		errs = append(errs, err)
		values[name] = v
	}
	return values, errors.Join(errs...)
}

func settingValue(name, text string) (any, error) {
	switch settingKinds[name] {
	case "bool":
		if v, err := strconv.ParseBool(text); err == nil {
			return v, nil
		}
		return nil, fmt.Errorf("topology.settings.%s: %q is neither true nor false", name, text)
	case "int":
		v, err := strconv.ParseInt(text, 10, 32)
		least := int64(1)
		if name == "catchUpTimeoutMillis" || name == "catchUpTakeoverDelayMillis" {
			least = -1 // unlimited
		}
		if err != nil || v < least {
			return nil, fmt.Errorf("topology.settings.%s: %q is not a whole number of at least %d", name, text, least)
		}
		return int32(v), nil
	}
	return nil, fmt.Errorf("topology.settings.%s: a lab has no such setting of replica sets%s", name,
		nearest.DidYouMean(name, SettingNames()))
}
