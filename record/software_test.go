package record

import "testing"

// Each kind of target is MongoDB or has the words that stand beside its figures, by its software, address and engine.
func TestWhatIsNotMongoDB(t *testing.T) {
	build := func(kind, build string) Target {
		return Target{Address: "mongodb://h/", Kind: kind, Settings: map[string]string{"gitVersion": build}}
	}
	for want, targets := range map[string][]Target{
		"": {{}, {Address: "mongodb://h/", Kind: "mongod"}, {Address: "lab:null", Kind: "mongos"},
			build("mongod", "6282d9b2a8b8d6c4f0ebe2f3cb4a1c5c0e5ad4b1")},
		"embedded, not MongoDB": {{Address: "embedded:dir", Kind: "embedded"}, {Kind: "embedded"}},
		"null, not MongoDB, stores nothing": {{Address: "null:", Kind: "null"}, {Address: "null:tcp", Kind: "mongod"},
			build("mongod", NullBuild)},
		"FerretDB, not MongoDB":     {{Address: "mongodb://h/", Kind: "ferretdb"}, {Address: "lab:a", Kind: "ferretdb"}},
		"stand-in, not MongoDB":     {build("mongod", "plimsoll-stand-in")},
		"REST service, not MongoDB": {{Address: "http://h:1/", Kind: "REST service"}},
	} {
		for _, target := range targets {
			if got := NotMongoDB(target.Software()); got != want {
				t.Errorf("%+v: %q, want %q", target, got, want)
			}
		}
	}
	for text, want := range map[string]string{
		"mongod 8.0.12": "", "Percona Server for MongoDB 8.0.4-1": "", "mongodb://embedded.example/": "", "lab:documentdb": "",
		"documentdb PostgreSQL 18.0, FerretDB 2.7.0": "FerretDB, not MongoDB", "FerretDB v2.7.0": "FerretDB, not MongoDB",
		"ferretdb v2.7.0": "FerretDB, not MongoDB", "embedded:a b": "embedded, not MongoDB",
		"null:tcp": "null, not MongoDB, stores nothing", "https://h/": "REST service, not MongoDB",
	} {
		if got := NotMongoDB(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
