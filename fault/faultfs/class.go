package faultfs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// ClassInfo is a kind of disk with figures that were published.
type ClassInfo struct {
	Name   string
	About  string // one line for people
	Device Device
	Source string // where the figures are from, and which were derived and how
}

// Classes returns the device classes, slow ones first.
func Classes() []ClassInfo { return slices.Clone(classes) }

// Class returns the device of a class by its name.
func Class(name string) (Device, error) {
	names := make([]string, len(classes))
	for i, c := range classes {
		if c.Name == name {
			d := c.Device
			d.Class = c.Name
			return d, nil
		}
		names[i] = c.Name
	}
	return Device{}, fmt.Errorf("there is no device class %q%s; there are %s", name, nearest.DidYouMean(name, names), strings.Join(names, ", "))
}

var classes = []ClassInfo{
	{"hdd-7200", "", Device{ReadLatency: 12 * time.Millisecond}, ""},
}
