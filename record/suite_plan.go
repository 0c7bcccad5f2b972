package record

import (
	"bytes"
	"encoding/json"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/spec"
)

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
	MAC           string     `json:"mac,omitempty"` // of Parts, as in [Study]
}

// WritePlan writes plan.json, without credentials.
func WritePlan(w *SuiteWriter, parts []PartPlan) error {
	parts = redacted(&w.red, parts)
	code, err := w.key.Code(KindSuitePlan, parts)
	if err != nil {
		return err
	}
	return writeFile(w, SuitePlan, partPlans{SchemaVersion, KindSuitePlan, parts, code}, true)
}

// SamePlan says whether two plans of a part are the same, without their credentials.
func SamePlan(a, b PartPlan) bool {
	var text [2][]byte
	for i, p := range []PartPlan{a, b} {
		var r redactor
		r.learn(p)
		var err error
		if text[i], err = json.Marshal(redacted(&r, p)); err != nil {
			return false
		}
	}
	return bytes.Equal(text[0], text[1])
}

// ReadSuitePlan reads plan.json. own says whether the user of the key wrote it.
func ReadSuitePlan(dir string, k *mac.Key) (parts []PartPlan, own bool, err error) {
	var p partPlans
	if err := readDocument(dir, SuitePlan, KindSuitePlan, "plan of a suite", &p); err != nil {
		return nil, false, err
	}
	return p.Parts, k.Valid(KindSuitePlan, p.Parts, p.MAC), nil
}
