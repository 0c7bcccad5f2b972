//go:build !race

package e2e

import "slices"

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }
