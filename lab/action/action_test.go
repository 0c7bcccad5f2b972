package action

import (
	"testing"

	"github.com/plimsoll-bench/plimsoll/fault"
)

// A lab does every action of the catalogue that it is said to do, proves it, and undoes what lasts.
func TestCatalogue(t *testing.T) {
	for _, row := range fault.Everywhere() {
		a := Find(row.Name)
		if (a != nil) != row.InLab() {
			t.Errorf("%s: a lab does it: %t, and the catalogue says %t", row.Name, a != nil, row.InLab())
			continue
		}
		if a == nil {
			continue
		}
		for what, wrong := range map[string]bool{
			"its row":                              a.Action != row,
			"apply":                                a.Apply == nil,
			"witness":                              a.Witness == nil,
			"undo if it lasts, and none otherwise": (a.Undo != nil) != row.Lasts,
		} {
			if wrong {
				t.Errorf("%s lacks %s", row.Name, what)
			}
		}
	}
}
