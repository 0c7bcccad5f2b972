package main

import (
	"regexp"
	"slices"
	"strings"
)

// packageNamed is how a plan names the package of a program that is not installed.
var packageNamed = regexp.MustCompile(`\(package ([a-z0-9.+-]+)\)`)

// installLine is the one command that installs all packages that texts of a plan name, "" if they name none.
func installLine(texts ...string) string {
	var packages []string
	for _, text := range texts {
		for _, found := range packageNamed.FindAllStringSubmatch(text, -1) {
			packages = append(packages, found[1])
		}
	}
	if len(packages) == 0 {
		return ""
	}
	slices.Sort(packages)
	return "apt-get install " + strings.Join(slices.Compact(packages), " ")
}
