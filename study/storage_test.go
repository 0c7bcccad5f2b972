package study

import (
	"strings"
	"testing"
)

const policyStudy = `name: policies
platform: vsphere.yaml
run: {target: "mongodb://db", storage_policy: plain, workload: {records: 1k}, load: {duration: 10s}}
trials: 2
canary: -1
`

// A plan says which storage policies are applied and how often. Batched, each is applied once.
func TestPlanOfStoragePolicies(t *testing.T) {
	const factor = `factors: [{name: policy, path: storage_policy, levels: [plain, striped, mirrored]}]
`
	p := plan(t, policyStudy+factor+"order: batched\nbatch: [policy]")
	if text := strings.Join(p.storageText(), "\n"); !strings.Contains(text, "is set 3 times (plain, striped, mirrored)") ||
		!strings.Contains(text, "in vsphere.yaml") {
		t.Errorf("the plan says %q", text)
	}
	for id, policy := range map[string]string{"baseline": "plain", "policy=striped": "striped", "policy=mirrored": "mirrored"} {
		if s, err := p.RunSpec(id); err != nil || s.StoragePolicy != policy {
			t.Errorf("%s has %q (%v), want %q", id, s.StoragePolicy, err, policy)
		}
	}
	if text := plan(t, strings.NewReplacer("platform: vsphere.yaml\n", "", "storage_policy: plain, ", "").Replace(policyStudy)+
		"factors: [{path: load.workers, levels: [1, 2]}]").storageText(); text != nil {
		t.Errorf("a study without policies says %q", text)
	}
}

// Without something that applies policies, or with a configuration that has none, nothing is planned.
func TestStoragePoliciesThatCannotBe(t *testing.T) {
	const factor = "factors: [{name: policy, path: storage_policy, levels: [plain, striped]}]"
	for text, want := range map[string]string{
		strings.Replace(policyStudy, "platform: vsphere.yaml\n", "", 1) + factor: "has no platform that applies it",
		strings.Replace(policyStudy, "storage_policy: plain, ", "", 1) +
			"factors: [{path: load.workers, levels: [1, 2]}]": "Add a factor with the path storage_policy",
		strings.Replace(policyStudy, "storage_policy: plain, ", "", 1) +
			"factors: [{name: policy, levels: [{name: none, set: {load.workers: 2}}, {name: one, set: {storage_policy: plain, load.workers: 2}}]}]": "Set run.storage_policy",
		strings.Replace(policyStudy, `target: "mongodb://db", `, "", 1) + "lab: {}\n" + factor: "Use lab.storage instead",
	} {
		mistake(t, text, want)
	}
}
