package workload

import "testing"

// Keys that YCSB makes; the first ones can be seen in many published outputs.
var goldenKeys = map[int64]string{
	0: "user6284781860667377211", 1: "user8517097267634966620", 2: "user1820151046732198393",
	3: "user4052466453699787802", 4: "user3232700585171816769", 5: "user1000385178204227360",
	10: "user2408371864701034737", 99: "user6405349725575133178", 1000: "user5952875239596136740",
	999999: "user2744965632448235251", 2147483647: "user627943977067101855",
	2147483648: "user5860980763039959109", 10000000000: "user1201321332300452516",
}

func TestKeysAreThoseOfYCSB(t *testing.T) {
	form := keyForm{padding: 1}
	for n, want := range goldenKeys {
		if got := string(form.append(nil, n)); got != want {
			t.Errorf("key of %d is %s, want %s", n, got, want)
		}
	}
}

func TestKeyForms(t *testing.T) {
	for _, c := range []struct {
		form keyForm
		n    int64
		want string
	}{
		{keyForm{ordered: true, padding: 1}, 42, "user42"},
		{keyForm{ordered: true, padding: 1}, 0, "user0"},
		{keyForm{ordered: true, padding: 8}, 42, "user00000042"},
		{keyForm{ordered: true, padding: 2}, 12345, "user12345"},
		{keyForm{padding: 25}, 2147483647, "user0000000627943977067101855"},
	} {
		if got := string(c.form.append([]byte("x"), c.n)); got != "x"+c.want {
			t.Errorf("%+v: key of %d is %s, want x%s", c.form, c.n, got, c.want)
		}
	}
}

func TestHashKeyIsNeverNegativeForKeysThatOccur(t *testing.T) {
	for n := int64(0); n < 100_000; n++ {
		if hashKey(n) < 0 {
			t.Fatalf("hash of %d is %d", n, hashKey(n))
		}
	}
}
