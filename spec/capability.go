package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// What an engine may or may not be able to do. Specifications name these, and not an engine.
const (
	CapSharding     = "sharding"      // shards, routers, config servers, a hashed key
	CapArbiters     = "arbiters"      // members that vote and hold no data
	CapPriorities   = "priorities"    // of members in an election
	CapWriteConcern = "write-concern" // each write says how many members have to have it (w:N)
)

// Capabilities are all of them.
func Capabilities() []string {
	return []string{CapSharding, CapArbiters, CapPriorities, CapWriteConcern}
}

// EngineLacks says why an engine has no such capability, in a sentence without a full stop; "" if it has it. An engine
// that is not chosen yet lacks nothing.
func EngineLacks(engine, capability string) string {
	if engine != LabDocumentDB {
		return ""
	}
	return map[string]string{
		CapSharding:     "documentdb has no sharding",
		CapArbiters:     "documentdb has no arbiters",
		CapPriorities:   "documentdb has no priorities",
		CapWriteConcern: "documentdb has one number of members to wait for in all sessions, not one for each write",
	}[capability]
}

// Instead is what is done where the engine lacks a capability.
type Instead struct {
	// Set sets keys by their paths, as levels do; null unsets one.
	Set map[string]any `json:"set,omitempty" yaml:"set,omitempty"`
	// Says is what that is, in a few words, for reports.
	Says string `json:"says,omitempty" yaml:"says,omitempty"`
}

// UnmarshalJSON reads it; whole numbers become int again, as they were when it was read from YAML.
func (s *Instead) UnmarshalJSON(b []byte) error {
	type fields Instead
	if err := json.Unmarshal(b, (*fields)(s)); err != nil {
		return err
	}
	Plain(s.Set)
	return nil
}

// checkWithout refuses capabilities that nothing has.
func checkWithout[T any](at string, without map[string]T) error {
	for name := range without {
		if !slices.Contains(Capabilities(), name) {
			return fmt.Errorf("%s: unknown capability %q%s (known: %s)", at, name, nearest.DidYouMean(name, Capabilities()), strings.Join(Capabilities(), ", "))
		}
	}
	return nil
}

// checkWithout refuses capabilities that nothing has, of the study and of its levels.
func (s *Study) checkWithout() error {
	errs := []error{checkWithout("without", s.Without)}
	if len(s.Without) > 0 && s.Lab == nil {
		errs = append(errs, errors.New("without: it needs a lab, because it is for capabilities that the lab's engine lacks. Add lab, or remove without"))
	}
	for _, f := range s.Factors {
		for _, l := range f.Levels {
			errs = append(errs, checkWithout(fmt.Sprintf("factor %q, level %q: without", f.Name, l.Name), l.Without))
		}
	}
	return errors.Join(errs...)
}
