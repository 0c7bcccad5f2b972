package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The doctor sees which members of a set are dead, and what may still fail, also without a primary.
func TestMongoDoctorOfASet(t *testing.T) {
	inTurn(t, 18)
	for name, binary := range mongods(t) {
		t.Run(name, func(t *testing.T) {
			set := enginetest.StartSet(t, binary, 3)
			check := func(severities map[string]string, says ...string) {
				t.Helper()
				found := doctorOf(t, set.URI, "")
				text := ""
				for id, severity := range severities {
					f, ok := found[id]
					if text += f.Is + "\n"; !ok || f.Severity != severity {
						t.Errorf("%s: %+v, want %s", id, f, severity)
					}
				}
				for _, words := range says {
					if !strings.Contains(text, words) {
						t.Errorf("it does not say %q:\n%s", words, text)
					}
				}
			}
			until(t, "all members are good", func() bool { return doctorOf(t, set.URI, "")["members"].Severity == record.DoctorGood })
			check(map[string]string{"members": record.DoctorGood, "majority": record.DoctorGood, "member-versions": record.DoctorGood,
				"election-timeout": record.DoctorAdvice, "clocks": record.DoctorGood, "electable-members": record.DoctorGood}, "2.00 s", "3 of 3 voting members")
			set.Do(t, "kill", "db3")
			check(map[string]string{"members": record.DoctorWarning, "majority": record.DoctorWarning},
				set.Addresses[2]+" does not answer", "none may fail: 2 of 3 voting members")
			set.Do(t, "kill", "db2")
			check(map[string]string{"majority": record.DoctorCritical}, "no majority: 1 of 3 voting members")
		})
	}
}

// mongods are the stand-in, and a real mongod where there is one.
func mongods(t *testing.T) map[string]string {
	t.Helper()
	binaries := map[string]string{"stand-in": enginetest.StandinMongo(t, "8.0.12")}
	if real, ok := enginetest.RealMongo(t); ok {
		binaries["mongod"] = real
	}
	return binaries
}

// doctorOf returns what the doctor says of a server, by finding, without the password of its address.
func doctorOf(t *testing.T, uri, password string) map[string]record.DoctorFinding {
	t.Helper()
	e := plimsoll(t, "doctor", ".", "--uri", uri, "--format", "json")
	if e.code != 0 && e.code != 4 && e.code != 6 { // findings about this machine do not matter here
		t.Fatalf("doctor ended with %d\n%s", e.code, e.stderr)
	}
	if password != "" && strings.Contains(e.stdout+e.stderr, password) {
		t.Error("the doctor tells the password")
	}
	var d record.Doctor
	if err := json.Unmarshal([]byte(e.stdout), &d); err != nil {
		t.Fatalf("%v\n%s", err, e.stdout)
	}
	found := map[string]record.DoctorFinding{}
	for _, f := range d.Findings {
		if f.Area == "server" {
			found[f.ID] = f
		}
	}
	return found
}
