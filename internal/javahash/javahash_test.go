package javahash

import "testing"

func TestString(t *testing.T) {
	for s, want := range map[string]int32{
		"": 0, "a": 97, "Aa": 2112, "BB": 2112, "abc": 96354, "Hello": 69609650,
		"READ": 2511254, "UPDATE": -1785516855, "CLEANUP": 1574756996, "SCAN-LATENCY-PER-RECORD": -917911360,
		"😀": int32(0xd83d)*31 + int32(0xde00), // U+1F600 is two units
	} {
		if got := String(s); got != want {
			t.Errorf("String(%q) = %d, want %d", s, got, want)
		}
	}
}
