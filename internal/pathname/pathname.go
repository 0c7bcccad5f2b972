// Package pathname makes names of files of names from outside, such as those of members, nodes and branches: one place
// decides what a name may have, and two names never become the same file.
package pathname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// longest is the length of the longest name that is kept as it is, in bytes. Systems take 255.
const longest = 100

// Of returns a name as one element of a path. ASCII letters, digits, "-", "_" and "." stay. Each other byte is %XX, and
// so is a first "-" or ".". A long name is its begin and a hash. Different names have different elements. None is
// empty or a name of the system such as "..".
func Of(name string) string {
	if name == "" {
		return "%"
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-' && i > 0, c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteString(hex.EncodeToString([]byte{c}))
		}
	}
	out := b.String()
	if len(out) <= longest {
		return out
	}
	sum := sha256.Sum256([]byte(name))
	return out[:longest-34] + "%%" + hex.EncodeToString(sum[:16])
}
