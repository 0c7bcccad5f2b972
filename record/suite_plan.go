package record

import "github.com/plimsoll-bench/plimsoll/spec"

// KindSuitePlan is the kind of plan.json.
const KindSuitePlan = "suite-plan"

// PartPlan is the scaled and fitted specification of a part of a suite, exactly one of them, before the results of
// earlier parts. A resumed suite uses it, so its files may have changed.
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
	// Before is the specification when the suite began, if it was cut since.
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
