package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/store"
)

func TestRefusedAddresses(t *testing.T) {
	for address, wanted := range map[string]string{
		"mongodb://h/?compressors=zstd":                               "compressors",
		"mongodb://h/?loadBalanced=true":                              "loadbalanced",
		"mongodb://h/?readPreference=nearest&readPreferenceTags=dc:a": "readpreferencetags",
		"mongodb://h/?maxStalenessSeconds=90":                         "maxstalenessseconds",
		"mongodb://u:secret@h/?authMechanism=PLAIN":                   "authMechanism=PLAIN",
		"mongodb://h/?authMechanism=MONGODB-X509":                     "authMechanism=MONGODB-X509",
		"mongodb://h/?tlsCertificateKeyFilePassword=secret":           "tlscertificatekeyfilepassword",
		"mongodb://h/?nosuchoption=1":                                 "nosuchoption",
		"mongodb://h/?w=0&journal=true":                               "w=0 and j=true",
		"mongodb://h/?readPreference=closest":                         "closest",
		"mongodb://h:port/":                                           "HOST:PORT",
		"mongodb://user:secret@x@h/":                                  "percent-encode",
		"mongodb://user:secret/x@h/":                                  "percent-encode",
		"mongodb://user:secret%zz@h/":                                 "percent-encode",
		"http://user:secret@h/":                                       "begin with mongodb://",
		"":                                                            "begin with mongodb://",
		"mongodb://h/?authMechanism=SCRAM-SHA-256":                    "username required",
		"mongodb://h1,h2/?directConnection=true":                      "direct connection",
	} {
		_, err := newSettings(t.Context(), store.Config{Target: address, Database: "db"})
		if err == nil {
			t.Errorf("%s: accepted", address)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, wanted) || strings.Contains(msg, "secret") {
			t.Errorf("%s: message %q should hold %q and no password", address, msg, wanted)
		}
	}
	yes := true
	if _, err := newSettings(t.Context(), store.Config{Target: "mongodb://h/?w=0", Database: "db",
		Concern: store.Concern{Journal: &yes}}); err == nil {
		t.Error("w=0 with j=true accepted from two places")
	}
	if _, err := newSettings(t.Context(), store.Config{Target: "mongodb://h"}); err == nil || !strings.Contains(err.Error(), "database") {
		t.Errorf("without a database: %v", err)
	}
}

func TestConfigurationWinsOverAddress(t *testing.T) {
	no, yes := false, true
	address := "mongodb://h/other?w=majority&journal=true&readConcernLevel=local&readPreference=secondary&maxPoolSize=5"
	st, err := newSettings(t.Context(), store.Config{Target: address})
	if err != nil {
		t.Fatal(err)
	}
	want := store.Concern{W: "majority", Journal: &yes, Read: "local", Preference: "secondary"}
	if d := cmp.Diff(want, st.concern); d != "" || st.database != "other" || st.preference != secondary {
		t.Errorf("from the address: %s %q", d, st.database)
	}
	if !slices.ContainsFunc(st.notes, func(n string) bool { return strings.Contains(n, "maxpoolsize") }) {
		t.Errorf("no note about maxPoolSize: %v", st.notes)
	}
	own := store.Concern{W: "0", Journal: &no, Read: "majority", Preference: "nearest"}
	if st, err = newSettings(t.Context(), store.Config{Target: address, Database: "mine", Concern: own}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(own, st.concern); d != "" || st.database != "mine" || !st.unacknowledged {
		t.Errorf("from the configuration: %s %q", d, st.database)
	}
}

func TestAddresses(t *testing.T) {
	st, err := newSettings(t.Context(), store.Config{Database: "db",
		Target: "mongodb://u:p%40ss@A,b:1,[::1],[::1]:5/?authSource=users&replicaSet=rs&appName=x&localThresholdMS=3&connectTimeoutMS=4&j=true&compressors=none&loadBalanced=false"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a:27017", "b:1", "[::1]:27017", "[::1]:5"}, st.seeds); d != "" {
		t.Error(d)
	}
	if st.setName != "rs" || st.appName != "x" || st.threshold != 3e6 || st.connect != 4e6 || st.auth.source != "users" ||
		!*st.concern.Journal {
		t.Errorf("%+v", st)
	}
}

func TestPreferenceNames(t *testing.T) {
	for i, name := range preferenceNames {
		if p, err := parsePreference(strings.ToUpper(name)); err != nil || p != preference(i) {
			t.Errorf("%s: %v %v", name, p, err)
		}
	}
}
