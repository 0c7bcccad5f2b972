package spec

import (
	"strings"
	"testing"
)

func TestLabLimitsThatCannotHold(t *testing.T) {
	for text, want := range map[string]string{
		"hosts: {mode: isolated, memory: 256MiB}\nengine: {cache: 1GiB}": "engine.cache: 1GiB is more than the memory of each host, 256MiB",
		"storage: {size: 1GiB, redundancy: raid6}":                       "unknown value \"raid6\"",
		"hosts: {mode: isolated, cores: -1}":                             "hosts.cores: -1 is not between",
	} {
		spec, err := ReadLab(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		spec.Defaults()
		err = spec.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\ngot %v, want only %q", text, err, want)
		}
	}
}
