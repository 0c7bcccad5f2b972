package record

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

const goodPrices = `currency: EUR
date: 2026-11-01
source: a list
nodes:
  - {name: small, cores: 8, memory: 64GiB, disk: 1.5TiB, price: 412.5}
  - {name: large, cores: 16, memory: 128GiB, disk: 3TiB, price: 800}
`

func TestReadPriceList(t *testing.T) {
	list, err := spec.ReadPriceList(strings.NewReader(goodPrices))
	if err != nil {
		t.Fatal(err)
	}
	if n := list.Nodes[0]; len(list.Nodes) != 2 || n.Memory != 64<<30 || n.Disk != 3<<39 || n.Price != 412.5 ||
		n.Cores != 8 || list.Date != "2026-11-01" {
		t.Errorf("read %+v", list)
	}
}

func TestReadPriceListMistakes(t *testing.T) {
	for want, change := range map[string][2]string{
		"unknown key \"memroy\"":            {"memory: 64GiB", "memroy: 64GiB"},
		"did you mean currency?":            {"currency:", "curency:"},
		"currency is missing":               {"currency: EUR\n", ""},
		"date is missing":                   {"date: 2026-11-01", "date: ''"},
		"source is missing":                 {"source: a list", "source: ''"},
		"two nodes have the name \"small\"": {"name: large", "name: small"},
		"has no name":                       {"name: small", "name: ''"},
		"has 0 cores":                       {"cores: 8", "cores: 0"},
		"has NaN cores":                     {"cores: 8", "cores: .nan"},
		"needs memory and disk":             {"disk: 1.5TiB", "disk: 0"},
		"costs -1":                          {"price: 412.5", "price: -1"},
		"costs +Inf":                        {"price: 412.5", "price: .inf"},
		"is not a size":                     {"memory: 64GiB", "memory: lots"},
		"did you mean GiB?":                 {"memory: 64GiB", "memory: 64gib"},
		"it has no nodes":                   {goodPrices[strings.Index(goodPrices, "nodes:"):], ""},
		"not YAML":                          {"source: a list", "source: ["},
	} {
		text := strings.Replace(goodPrices, change[0], change[1], 1)
		if text == goodPrices {
			t.Fatalf("%q changes nothing", change[0])
		}
		if _, err := spec.ReadPriceList(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
	if _, err := spec.ReadPriceList(strings.NewReader("")); err == nil {
		t.Error("an empty price list is taken")
	}
}

// Whatever a file holds, a price list is refused or whole.
func FuzzReadPriceList(f *testing.F) {
	f.Add(goodPrices)
	f.Add("nodes: [{}]")
	f.Add("{currency: a, date: b, source: c, nodes: [{name: n, cores: 1e400, memory: 1B, disk: 1B, price: 1}]}")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := spec.ReadPriceList(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, n := range list.Nodes {
			if n.Name == "" || !(n.Cores > 0) || n.Memory <= 0 || n.Disk <= 0 || !(n.Price > 0) || n.Price > 1e308 {
				t.Errorf("%q gives %+v", text, n)
			}
		}
		if len(list.Nodes) == 0 || list.Currency == "" || list.Date == "" || list.Source == "" {
			t.Errorf("%q gives %+v", text, list)
		}
	})
}
