package spec

import (
	"fmt"
	"io"
	"math"
)

// PriceList is what nodes cost: the file of `plimsoll size --price`.
type PriceList struct {
	// Currency is what prices are in, for example EUR.
	Currency string `json:"currency" yaml:"currency"`
	// Date is when the prices held, and Source where they come from. Both are quoted with every price.
	Date   string `json:"date" yaml:"date"`
	Source string `json:"source" yaml:"source"`
	// Nodes are the types that can be had.
	Nodes []NodeType `json:"nodes" yaml:"nodes"`
}

// NodeType is a kind of node that can be had.
type NodeType struct {
	Name string `json:"name" yaml:"name"`
	// Cores it has, memory and disk, like "64GiB".
	Cores  float64 `json:"cores" yaml:"cores"`
	Memory Size    `json:"memory" yaml:"memory"`
	Disk   Size    `json:"disk" yaml:"disk"`
	// Price per month, all of it: what runs, its disk and its share of everything else.
	Price float64 `json:"price" yaml:"price"`
}

// ReadPriceList reads a price list in YAML (JSON is YAML), as strictly as [ReadRun], and checks it.
func ReadPriceList(r io.Reader) (PriceList, error) {
	list, err := ReadStrict[PriceList](r, "price list")
	if err != nil {
		return list, err
	}
	return list, list.check()
}

func (l PriceList) check() error {
	for _, field := range []struct{ name, value string }{{"currency", l.Currency}, {"date", l.Date}, {"source", l.Source}} {
		if field.value == "" {
			return fmt.Errorf("price list: %s is missing, and a price needs it", field.name)
		}
	}
	if len(l.Nodes) == 0 {
		return fmt.Errorf("price list: it has no nodes. Add at least one with name, cores, memory, disk and price")
	}
	names := map[string]bool{}
	for i, n := range l.Nodes {
		switch {
		case n.Name == "":
			return fmt.Errorf("price list: node %d has no name", i+1)
		case names[n.Name]:
			return fmt.Errorf("price list: two nodes have the name %q. Rename one", n.Name)
		case !(n.Cores > 0) || math.IsInf(n.Cores, 0):
			return fmt.Errorf("price list: node %q has %v cores: it needs more than none", n.Name, n.Cores)
		case n.Memory <= 0 || n.Disk <= 0:
			return fmt.Errorf("price list: node %q needs memory and disk, like memory: 64GiB", n.Name)
		case !(n.Price > 0) || math.IsInf(n.Price, 0):
			return fmt.Errorf("price list: node %q costs %v: it needs a price per month above 0", n.Name, n.Price)
		}
		names[n.Name] = true
	}
	return nil
}
