package record

import "github.com/plimsoll-bench/plimsoll/spec"

// KindSuitePlan is the kind of plan.json.
const KindSuitePlan = "suite-plan"

// PartPlan is what a part of a suite is asked to do, scaled and fitted: exactly one of the specifications. What an
// earlier part gives is not in it yet. A resumed suite goes by this, so that its files may have changed since.
type PartPlan struct {
	Name  string          `json:"name"`
	Study *spec.Study     `json:"study,omitempty"`
	Drill *spec.Drill     `json:"drill,omitempty"`
	Probe *spec.PartProbe `json:"probe,omitempty"`
	// Gives are the keys that later parts take from this one.
	Gives []string `json:"gives,omitempty"`
	// Owns are the keys of the run that this part has values of its own for, so that no earlier part gives them.
	Owns []string `json:"owns,omitempty"`
	// Of is the name of the part in suite.yaml, which parts that repeat it for several values have in common, and Vital as
	// there: what a suite that runs late goes by.
	Of    string `json:"of,omitempty"`
	Vital bool   `json:"vital,omitempty"`
	// Before is what it was asked to do when the suite began, where the suite ran late and it has become less since.
	Before *PartPlan `json:"before,omitempty"`
}

// partPlans is plan.json.
type partPlans struct {
	SchemaVersion string     `json:"schema_version"`
	Kind          string     `json:"kind"`
	Parts         []PartPlan `json:"parts"`
}

// WritePlan writes plan.json, without credentials.
func WritePlan(w *SuiteWriter, parts []PartPlan) error {
	return writeFile(w, SuitePlan, partPlans{SchemaVersion, KindSuitePlan, parts}, true)
}

// ReadSuitePlan reads plan.json.
func ReadSuitePlan(dir string) ([]PartPlan, error) {
	var p partPlans
	if err := readDocument(dir, SuitePlan, KindSuitePlan, "plan of a suite", &p); err != nil {
		return nil, err
	}
	return p.Parts, nil
}
