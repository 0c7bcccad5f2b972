package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// A study may change the storage policy of the disks of its target, which has a platform file for that. The data stay,
// and are rebuilt.

// checkStorage checks that a platform applies the storage policies, and that each configuration has one if any has.
func (p *Plan) checkStorage() error {
	with, without := "", ""
	for _, c := range p.Configurations {
		if p.specs[c.ID].StoragePolicy == "" {
			without = c.ID
		} else {
			with = c.ID
		}
	}
	switch {
	case with != "" && p.Spec.Platform == "":
		return errors.New("storage_policy: the study has no platform that applies it. Add platform: FILE, with the vCenter (docs/platform.md)")
	case with != "" && p.Spec.Lab != nil:
		return errors.New("storage_policy: the disks of a lab have none. Use lab.storage instead")
	case with == "" && p.Spec.Platform != "":
		return errors.New("platform: a study uses it for storage policies only. Add a factor with the path storage_policy")
	case with != "" && without != "":
		return fmt.Errorf("storage_policy: the configuration %s has none, so it would run with that of the previous trial. Set run.storage_policy", without)
	}
	return nil
}

// storageText says which storage policies are applied, and how often.
func (p *Plan) storageText() []string {
	policies := map[string]string{}
	var names []string
	for _, c := range p.Configurations {
		policy := p.specs[c.ID].StoragePolicy
		if policies[c.ID] = policy; policy != "" && !slices.Contains(names, policy) {
			names = append(names, policy)
		}
	}
	if len(names) == 0 || len(p.Trials) == 0 {
		return nil
	}
	times, _ := stretches(p.Trials, policies)
	return []string{fmt.Sprintf("the storage policy of all disks of the members in %s is set %s (%s). Each change rebuilds disks, whose time is "+
		"not in the estimate. At the end, the disks get the policies of the beginning", p.Spec.Platform,
		figure.Plural(times, "time"),
		strings.Join(names, ", "))}
}
