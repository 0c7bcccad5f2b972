package wire

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// preference is a read preference mode.
type preference uint8

const (
	primary preference = iota
	primaryPreferred
	secondary
	secondaryPreferred
	nearest
)

var preferenceNames = [...]string{"primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"}

func parsePreference(name string) (preference, error) {
	if name == "" {
		return primary, nil
	}
	for i, n := range preferenceNames {
		if strings.EqualFold(n, name) {
			return preference(i), nil
		}
	}
	return primary, fmt.Errorf("unknown read preference %q: use one of %s", name, strings.Join(preferenceNames[:], ", "))
}

// appendReadPreference writes $readPreference like the official driver: never to a standalone server, and for mode
// primary only to a directly addressed member of a replica set, which would refuse reads as a secondary otherwise.
func (s *settings) appendReadPreference(dst []byte, g *greeting) []byte {
	mode := s.preference
	switch {
	case g.role == roleStandalone:
		return dst
	case mode == primary && s.direct && g.role != roleRouter:
		mode = primaryPreferred
	case mode == primary:
		return dst
	}
	dst = bsoncore.AppendHeader(dst, rawbson.Document, "$readPreference")
	dst, start := rawbson.Open(dst)
	dst = bsoncore.AppendStringElement(dst, "mode", preferenceNames[mode])
	return rawbson.Close(dst, start)
}
