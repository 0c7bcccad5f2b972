package server

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of MongoDB, or of a server with MongoDB's numbers, such as Percona's.
type Version struct {
	Major, Minor, Patch int
	Text                string // from the server: "8.0.12", "4.4.6-8"
}

// ParseVersion reads "8.0.12", "8.0" or "4.4.6-8". The text after the numbers is not compared.
func ParseVersion(text string) (Version, error) {
	v := Version{Text: text}
	numbers, _, _ := strings.Cut(text, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) < 2 || len(parts) > 4 {
		return v, fmt.Errorf("%q is not a release of mongod, such as 8.0.12", text)
	}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if i >= len(parts) {
			break
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 {
			return v, fmt.Errorf("%q is not a release of mongod, such as 8.0.12", text)
		}
		*to = n
	}
	return v, nil
}

// AtLeast reports whether the release is major.minor or later.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Compare compares the numbers of two releases.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// Series is the release without its patch: "8.0".
func (v Version) Series() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Known is false for the zero value.
func (v Version) Known() bool { return v.Major > 0 }

func (v Version) String() string { return v.Text }
