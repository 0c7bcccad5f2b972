package server

import "testing"

func TestRole(t *testing.T) {
	for want, h := range map[string]Hello{
		"router":     {Message: "isdbgrid", Writable: true},
		"standalone": {Writable: true},
		"primary":    {SetName: "rs0", Writable: true},
		"secondary":  {SetName: "rs0", Secondary: true},
		"arbiter":    {SetName: "rs0", Arbiter: true},
		"unknown":    {Ghost: true},
	} {
		if got := h.Role(); got != want {
			t.Errorf("%+v is %s, want %s", h, got, want)
		}
	}
	if got := (Hello{SetName: "rs0"}).Role(); got != "unknown" {
		t.Errorf("a member in recovery is %s", got)
	}
}
