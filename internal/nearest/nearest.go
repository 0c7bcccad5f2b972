// Package nearest finds the known word that is most similar to an unknown one, for error messages.
package nearest

import "strings"

// Word returns the choice with the smallest edit distance to word (insertions, deletions, substitutions and swaps of
// neighbours count 1), or "" if no choice is similar enough. Case is ignored. Of equal choices it returns the first
// one.
func Word(word string, choices []string) string {
	best, bestDistance := "", limit(word)+1
	for _, c := range choices {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean returns ", did you mean X?" or "" for the end of an error message.
func DidYouMean(word string, choices []string) string {
	if w := Word(word, choices); w != "" {
		return ", did you mean " + w + "?"
	}
	return ""
}

// limit is the largest distance of similar words: one per three letters, from one to four.
func limit(word string) int { return max(1, min(4, (len(word)+1)/3)) }

// distance is the optimal string alignment distance.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
