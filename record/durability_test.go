package record

import (
	"strings"
	"testing"
)

// Levels have a meaning, over which what is said explicitly wins.
func TestDurabilityLevels(t *testing.T) {
	yes, no := true, false
	for _, x := range []struct {
		d    DurabilitySpec
		want string
	}{
		{DurabilitySpec{}, ""}, {DurabilitySpec{Name: "throughput"}, "w: 0"}, {DurabilitySpec{Name: "balanced"}, "w: 1, j: false"},
		{DurabilitySpec{Name: "durable"}, "w: 1, j: true"}, {DurabilitySpec{Name: "durable", W: "majority"}, "w: majority, j: true"},
		{DurabilitySpec{Name: "durable", Journal: &no}, "w: 1, j: false"}, {DurabilitySpec{Name: "throughput", Journal: &yes}, "w: 0, j: true"},
		{DurabilitySpec{W: "2"}, "w: 2"}, {DurabilitySpec{Journal: &yes}, "j: true"},
	} {
		if got := strings.Join(x.d.Asked(), ", "); got != x.want {
			t.Errorf("%+v asks for %q, want %q", x.d, got, x.want)
		}
	}
	*DurabilitySpec{Name: "durable"}.Effective().Journal = false
	if got := (DurabilitySpec{Name: "durable"}).Asked()[1]; got != "j: true" {
		t.Errorf("somebody changed what durable means: %s", got)
	}
}
