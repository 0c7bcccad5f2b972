package spec

import (
	"strings"
	"testing"
)

// Levels have a meaning, over which what is said explicitly wins.
func TestDurabilityLevels(t *testing.T) {
	yes, no := true, false
	for _, x := range []struct {
		d    Durability
		want string
	}{
		{Durability{}, ""}, {Durability{Name: "throughput"}, "w: 0"}, {Durability{Name: "balanced"}, "w: 1, j: false"},
		{Durability{Name: "durable"}, "w: 1, j: true"}, {Durability{Name: "durable", W: "majority"}, "w: majority, j: true"},
		{Durability{Name: "durable", Journal: &no}, "w: 1, j: false"}, {Durability{Name: "throughput", Journal: &yes}, "w: 0, j: true"},
		{Durability{W: "2"}, "w: 2"}, {Durability{Journal: &yes}, "j: true"},
	} {
		if got := strings.Join(x.d.Asked(), ", "); got != x.want {
			t.Errorf("%+v asks for %q, want %q", x.d, got, x.want)
		}
	}
	*Durability{Name: "durable"}.Effective().Journal = false
	if got := (Durability{Name: "durable"}).Asked()[1]; got != "j: true" {
		t.Errorf("somebody changed what durable means: %s", got)
	}
}

// The options of an address count where the specification says nothing.
func TestDurabilityAtAnAddress(t *testing.T) {
	no := false
	for _, x := range []struct {
		d       Durability
		address string
		want    string
	}{
		{Durability{}, "mongodb://u:***@h/?replicaSet=rs0&w=majority", "w: majority"},
		{Durability{}, "mongodb://h/?w=0", "w: 0"},
		{Durability{}, "mongodb://h/?journal=true", "j: true"},
		{Durability{W: "1"}, "mongodb://h/?w=0&journal=true", "w: 1, j: true"},
		{Durability{Name: "balanced"}, "mongodb://h/?w=majority&journal=true", "w: 1, j: false"},
		{Durability{Journal: &no}, "mongodb://h/?w=2&j=true", "w: 2, j: false"},
		{Durability{}, "mongodb://h/", ""},
		{Durability{}, "embedded:w=1", ""},
		{Durability{}, "lab:three", ""},
	} {
		if got := strings.Join(x.d.At(x.address).Asked(), ", "); got != x.want {
			t.Errorf("%+v at %s asks for %q, want %q", x.d, x.address, got, x.want)
		}
	}
}
