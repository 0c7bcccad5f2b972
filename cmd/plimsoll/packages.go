package main

import (
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// packageNamed matches the package of a missing program in a plan.
var packageNamed = expression.New(`\(package ([a-z0-9.+-]+)\)`)

// installLine returns one command that installs all packages in texts of a plan, or "".
func installLine(texts ...string) string {
	var packages []string
	for _, text := range texts {
		for _, found := range packageNamed().FindAllStringSubmatch(text, -1) {
			packages = append(packages, found[1])
		}
	}
	if len(packages) == 0 {
		return ""
	}
	slices.Sort(packages)
	return "apt-get install " + strings.Join(slices.Compact(packages), " ")
}
