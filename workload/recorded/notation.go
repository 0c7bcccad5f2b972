package recorded

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// errShortened says that a shell printed only the begin of a value.
var errShortened = errors.New("the shell shortened it")

// readNotation reads a document from the begin of a text: JSON, Extended JSON, or the notation of the shells and of
// logs before 4.4, such as { _id: ObjectId('…'), at: new Date(1573545600123) }. It returns the text behind it.
func readNotation(text []byte) (doc bson.Raw, rest []byte, err error) {
	n := notation{in: text}
	if n.skip(); n.peek() != '{' {
		return nil, text, Damaged
	}
	if err := n.value(0); err != nil {
		return nil, text, err
	}
	if err := bson.UnmarshalExtJSON(n.out, false, &doc); err != nil {
		return nil, text, Damaged
	}
	return doc, n.in[n.at:], nil
}

// notation translates a value into Extended JSON.
type notation struct {
	in  []byte
	at  int
	out []byte
}

func (n *notation) peek() byte {
	if n.at < len(n.in) {
		return n.in[n.at]
	}
	return 0
}

func (n *notation) skip() {
	for strings.IndexByte(" \t\r\n", n.peek()) >= 0 && n.at < len(n.in) {
		n.at++
	}
}

// take skips white space and then c, if it is next.
func (n *notation) take(c byte) bool {
	if n.skip(); n.peek() != c {
		return false
	}
	n.at++
	return true
}

func (n *notation) value(depth int) error {
	if depth > 2*mostDepth {
		return Damaged
	}
	n.skip()
	switch c := n.peek(); {
	case c == '{':
		return n.list('}', depth, true)
	case c == '[':
		return n.list(']', depth, false)
	case c == '"' || c == '\'' || c == '`':
		s, err := n.text()
		n.appendText(s)
		return err
	case c == '/':
		return n.regex()
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return n.number()
	}
	return n.word()
}

// list translates a document or an array.
func (n *notation) list(end byte, depth int, keys bool) error {
	n.out = append(n.out, n.in[n.at])
	n.at++
	for first := true; !n.take(end); first = false {
		if !first {
			if !n.take(',') {
				return n.unexpected()
			}
			if n.take(end) { // a comma before the end
				break
			}
			n.out = append(n.out, ',')
		}
		if keys {
			if err := n.key(); err != nil {
				return err
			}
		}
		if err := n.value(depth + 1); err != nil {
			return err
		}
	}
	n.out = append(n.out, end)
	return nil
}

// unexpected is the error for the text at this place.
func (n *notation) unexpected() error {
	if strings.HasPrefix(string(n.in[n.at:min(len(n.in), n.at+4)]), "...") { // "... 3 more items"
		return errShortened
	}
	return Damaged
}

// key translates the name of a field, which needs no quotation marks.
func (n *notation) key() error {
	n.skip()
	var key string
	if c := n.peek(); c == '"' || c == '\'' {
		var err error
		if key, err = n.text(); err != nil {
			return err
		}
	} else if end := strings.IndexAny(string(n.in[n.at:min(len(n.in), n.at+1024)]), ": \t\r\n{}[],\"'"); end > 0 {
		key = string(n.in[n.at : n.at+end])
		n.at += end
	}
	if !n.take(':') {
		return n.unexpected()
	}
	n.appendText(key)
	n.out = append(n.out, ':')
	return nil
}

// text reads a text in quotation marks.
func (n *notation) text() (string, error) {
	quote := n.peek()
	n.at++
	var b strings.Builder
	for n.at < len(n.in) {
		c := n.in[n.at]
		n.at++
		switch {
		case c == quote:
			return b.String(), nil
		case c != '\\' || n.at == len(n.in):
			b.WriteByte(c)
			continue
		}
		c = n.in[n.at]
		n.at++
		digits := map[byte]int{'u': 4, 'x': 2}[c]
		switch {
		case digits > 0 && n.at+digits <= len(n.in):
			r := n.hexRune(digits)
			if r >= 0xd800 && r < 0xdc00 && n.at+6 <= len(n.in) && string(n.in[n.at:n.at+2]) == `\u` {
				n.at += 2
				r = 0x10000 + (r-0xd800)<<10 + (n.hexRune(4) - 0xdc00)
			}
			b.WriteRune(r)
		case strings.IndexByte("nrtbfv0", c) >= 0:
			b.WriteByte("\n\r\t\b\f\v\x00"[strings.IndexByte("nrtbfv0", c)])
		default:
			b.WriteByte(c)
		}
	}
	return "", Damaged
}

func (n *notation) hexRune(digits int) rune {
	x, err := strconv.ParseUint(string(n.in[n.at:n.at+digits]), 16, 32)
	n.at += digits
	if err != nil {
		return utf8.RuneError
	}
	return rune(x)
}

// appendText writes a text of Extended JSON.
func (n *notation) appendText(s string) {
	const digits = "0123456789abcdef"
	n.out = append(n.out, '"')
	for _, r := range s { // invalid UTF-8 becomes the replacement character
		switch {
		case r == '"' || r == '\\':
			n.out = append(n.out, '\\', byte(r))
		case r < ' ':
			n.out = append(n.out, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			n.out = utf8.AppendRune(n.out, r)
		}
	}
	n.out = append(n.out, '"')
}

func (n *notation) number() error {
	end := n.at
	for end < len(n.in) && strings.IndexByte("+-.0123456789eE", n.in[end]) >= 0 {
		end++
	}
	text := string(n.in[n.at:end])
	switch {
	case strings.HasPrefix(text, "..."):
		return errShortened
	case text == "-" || text == "+": // -inf, -Infinity
		n.at = end
		if w := strings.ToLower(n.name()); w != "inf" && w != "infinity" {
			return Damaged
		}
		n.out = append(n.out, `{"$numberDouble":"`+strings.Trim(text, "+")+`Infinity"}`...)
		return nil
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		return Damaged
	}
	n.at = end
	if strings.ContainsAny(text, ".eE") {
		n.out = append(n.out, `{"$numberDouble":"`+text+`"}`...)
		return nil
	}
	if x, err := strconv.ParseInt(text, 10, 64); err == nil {
		n.out = strconv.AppendInt(n.out, x, 10)
		return nil
	}
	n.out = append(n.out, `{"$numberDouble":"`+text+`"}`...)
	return nil
}

// regex translates /pattern/options.
func (n *notation) regex() error {
	n.at++
	begin, class := n.at, false
	for ; n.at < len(n.in) && (n.in[n.at] != '/' || class); n.at++ {
		switch n.in[n.at] {
		case '\\':
			n.at++
		case '[':
			class = true
		case ']':
			class = false
		case '\n':
			return Damaged
		}
	}
	if n.at >= len(n.in) {
		return Damaged
	}
	pattern := string(n.in[begin:n.at])
	n.at++
	n.appendRegex(strings.ReplaceAll(pattern, `\/`, "/"), n.name())
	return nil
}

func (n *notation) appendRegex(pattern, options string) {
	n.out = append(n.out, `{"$regularExpression":{"pattern":`...)
	n.appendText(pattern)
	n.out = append(n.out, `,"options":`...)
	n.appendText(options)
	n.out = append(n.out, "}}"...)
}

// name reads letters, digits and dots.
func (n *notation) name() string {
	begin := n.at
	for n.at < len(n.in) {
		if c := n.in[n.at]; c == '.' || c == '_' || c == '$' || c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z' {
			n.at++
			continue
		}
		break
	}
	return string(n.in[begin:n.at])
}

// plainWords are words without arguments.
var plainWords = map[string]string{"true": "true", "false": "false", "null": "null", "undefined": `{"$undefined":true}`,
	"NaN": `{"$numberDouble":"NaN"}`, "nan": `{"$numberDouble":"NaN"}`, "Infinity": `{"$numberDouble":"Infinity"}`,
	"inf": `{"$numberDouble":"Infinity"}`, "MinKey": `{"$minKey":1}`, "MaxKey": `{"$maxKey":1}`}

// word translates a word, or a value with its type such as ObjectId("…").
func (n *notation) word() error {
	name := n.name()
	if name == "new" {
		n.skip()
		name = n.name()
	}
	if name == "Object" || name == "Array" { // [Object] of mongosh
		return errShortened
	}
	if !n.take('(') {
		text, ok := plainWords[name]
		if !ok {
			return n.unexpected()
		}
		n.out = append(n.out, text...)
		return nil
	}
	var args []string
	for !n.take(')') {
		if len(args) > 0 && !n.take(',') {
			return Damaged
		}
		arg, err := n.argument()
		if err != nil {
			return err
		}
		args = append(args, arg)
	}
	return n.typed(name, args)
}

// argument reads an argument: a text, or anything else as it stands.
func (n *notation) argument() (string, error) {
	n.skip()
	if c := n.peek(); c == '"' || c == '\'' {
		return n.text()
	}
	if n.peek() == '{' { // Timestamp({ t: 1, i: 2 })
		begin, out := n.at, len(n.out)
		err := n.value(0)
		text := string(n.out[out:])
		n.out = n.out[:out]
		if err != nil || begin == n.at {
			return "", Damaged
		}
		return text, nil
	}
	begin, depth, quote := n.at, 0, byte(0)
	for ; n.at < len(n.in) && n.at-begin < maxArgument; n.at++ {
		switch c := n.in[n.at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == ')' || c == ',' && depth == 0:
			return strings.TrimSpace(string(n.in[begin:n.at])), nil
		}
	}
	return "", Damaged
}

// maxArgument is the longest argument without quotation marks, in bytes: the binary data in a text log.
const maxArgument = 64 << 10

// typed translates a value that has its type before it.
func (n *notation) typed(name string, args []string) error {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	quoted := func(key, text string) {
		n.out = append(n.out, `{"`+key+`":`...)
		n.appendText(text)
		n.out = append(n.out, '}')
	}
	switch strings.ToLower(strings.TrimPrefix(name, "BSON.")) {
	case "objectid":
		quoted("$oid", arg(0))
	case "isodate", "date":
		if _, err := strconv.ParseInt(arg(0), 10, 64); err == nil {
			n.out = append(n.out, `{"$date":{"$numberLong":"`+arg(0)+`"}}`...)
			return nil
		}
		quoted("$date", arg(0))
	case "numberlong", "long", "long.fromstring":
		quoted("$numberLong", arg(0))
	case "numberint", "int32":
		quoted("$numberInt", arg(0))
	case "double":
		quoted("$numberDouble", arg(0))
	case "numberdecimal", "decimal128", "decimal128.fromstring":
		quoted("$numberDecimal", arg(0))
	case "uuid":
		quoted("$uuid", arg(0))
	case "timestamp":
		return n.timestamp(args)
	case "bindata", "hexdata":
		n.binary(arg(0), arg(1))
	case "binary", "binary.createfrombase64":
		n.binary(arg(1), arg(0))
	case "regexp", "bsonregexp":
		n.appendRegex(arg(0), arg(1))
	case "minkey", "maxkey":
		n.out = append(n.out, plainWords[strings.ToUpper(name[:1])+strings.ToLower(name[1:3])+"Key"]...)
	case "dbref":
		n.out = append(n.out, `{"$ref":`...)
		n.appendText(arg(0))
		n.out = append(n.out, `,"$id":`...)
		inner := notation{in: []byte(arg(1))}
		if err := inner.value(0); err != nil || inner.at < len(inner.in) {
			inner.out = nil
			inner.appendText(arg(1))
		}
		n.out = append(append(n.out, inner.out...), '}')
	case "code":
		quoted("$code", arg(0))
	default:
		return Damaged
	}
	return nil
}

// timestamp translates Timestamp(1, 2) and Timestamp({ t: 1, i: 2 }).
func (n *notation) timestamp(args []string) error {
	var ts struct{ T, I uint32 }
	if len(args) == 1 && json.Unmarshal([]byte(args[0]), &ts) != nil {
		return Damaged
	}
	if len(args) == 2 {
		t, err1 := strconv.ParseUint(args[0], 10, 32)
		i, err2 := strconv.ParseUint(args[1], 10, 32)
		if ts.T, ts.I = uint32(t), uint32(i); err1 != nil || err2 != nil {
			return Damaged
		}
	}
	text, err := json.Marshal(map[string]uint32{"t": ts.T, "i": ts.I})
	n.out = append(append(append(n.out, `{"$timestamp":`...), text...), '}')
	return err
}

// binary writes binary data in base64, or in the hexadecimal digits of logs.
func (n *notation) binary(kind, text string) {
	if raw, err := hex.DecodeString(text); err == nil {
		text = base64.StdEncoding.EncodeToString(raw)
	}
	k, _ := strconv.ParseUint(kind, 10, 8)
	n.out = append(n.out, `{"$binary":{"base64":`...)
	n.appendText(text)
	n.out = append(n.out, `,"subType":"`+hex.EncodeToString([]byte{byte(k)})+`"}}`...)
}
