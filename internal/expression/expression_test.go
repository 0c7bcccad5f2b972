package expression

import "testing"

func TestNew(t *testing.T) {
	if !New("^a+$")().MatchString("aa") {
		t.Error("^a+$ does not match aa")
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression was not found in a test before its first use")
		}
	}()
	New("(")
}
