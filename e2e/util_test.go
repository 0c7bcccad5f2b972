//go:build !race

package e2e

import "slices"

// sorted returns a sorted copy.
func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }
