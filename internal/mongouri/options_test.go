package mongouri

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// Options of the manual and of other drivers are used or noted, whatever their case. Only a misspelling is refused,
// with the option that was meant.
func TestKnown(t *testing.T) {
	for text, want := range map[string]struct {
		address string
		notes   int
		err     string
	}{
		"mongodb://h/?maxPoolSize=5&W=1":                           {"mongodb://h/?maxPoolSize=5&W=1", 0, ""},
		"mongodb://h/?j=true":                                      {"mongodb://h/?journal=true", 0, ""},
		"mongodb://h/?j=true&journal=false":                        {"mongodb://h/?journal=false", 0, ""},
		"mongodb://h/?wtimeoutMS=1&WTIMEOUT=2&w=1":                 {"mongodb://h/?w=1", 2, ""},
		"mongodb://h/?uuidRepresentation=standard&maxLifeTimeMS=3": {"mongodb://h/", 2, ""},
		"mongodb://h/?waitQueueMultiple=5&3t.uriVersion=3":         {"mongodb://h/", 2, ""},
		"mongodb://h/?tls=true&tlsAllowInvalidCertificates=true":   {"mongodb://h/?tls=true&tlsInsecure=true", 0, ""},
		"mongodb://h/?sslInvalidHostNameAllowed=true":              {"mongodb://h/?tlsAllowInvalidHostnames=true", 0, ""},
		"mongodb://h/?maxPoolSiz=5":                                {"", 0, "there is no option maxPoolSiz, did you mean maxPoolSize?"},
		"mongodb://h/?whatever=5":                                  {"", 0, "there is no option whatever"},
	} {
		a, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		known, notes, err := a.Known()
		switch {
		case want.err != "":
			if err == nil || err.Error() != want.err {
				t.Errorf("%s: %v, want %s", text, err, want.err)
			}
		case err != nil || known.String() != want.address || len(notes) != want.notes:
			t.Errorf("%s became %s, %q, %v; want %s and %d notes", text, known, notes, err, want.address, want.notes)
		case a.String() != text:
			t.Errorf("%s was changed to %s", text, a)
		}
	}
}

// The parser of the Go driver knows each option without a note, by the name that Known gives it.
func TestTheDriverKnowsOptions(t *testing.T) {
	special := map[string]string{"tlsAllowInvalidHostnames": "clients read it"}
	for name, why := range options {
		if why != "" || special[name] != "" {
			continue
		}
		a, err := Parse("mongodb://h/?" + name + "=true")
		if err != nil {
			t.Fatal(err)
		}
		known, _, err := a.Known()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cs, err := connstring.Parse(known.String())
		if err == nil && len(cs.UnknownOptions) > 0 && special[strings.TrimSuffix(known.options[0], "=true")] == "" {
			t.Errorf("the driver does not know %s", known.options[0])
		}
	}
}
