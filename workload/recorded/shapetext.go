package recorded

import (
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// textOf writes a shape in one line, with the notation of $queryStats for values.
func textOf(v any) string {
	var b strings.Builder
	writeShape(&b, v)
	return b.String()
}

func writeShape(b *strings.Builder, v any) {
	switch v := v.(type) {
	case bson.D:
		b.WriteByte('{')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(keyText(e.Key))
			b.WriteString(": ")
			writeShape(b, e.Value)
		}
		b.WriteByte('}')
	case bson.A:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeShape(b, e)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(strconv.Quote(v))
	case *Hole:
		b.WriteString(v.String())
	case nil:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v)
	}
}

// keyText quotes a key that is not a plain word.
func keyText(key string) string {
	plain := key != ""
	for _, r := range key {
		plain = plain && (r == '_' || r == '$' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' ||
			r >= 'A' && r <= 'Z')
	}
	if plain {
		return key
	}
	return strconv.Quote(key)
}
