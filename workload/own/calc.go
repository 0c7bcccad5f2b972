package own

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// number is a value in a calculation: whole, or with a fraction.
type number struct {
	whole bool
	date  bool // whole milliseconds since 1970
	i     int64
	f     float64
}

func (n number) float() float64 {
	if n.whole {
		return float64(n.i)
	}
	return n.f
}

// rounded is the whole number of n.
func (n number) rounded() int64 {
	if n.whole {
		return n.i
	}
	return int64(n.f)
}

// term is a part of a calculation. dst has the fields of the document so far.
type term interface {
	eval(dst []byte, e *env) number
}

type (
	literal   number
	numberOf  struct{}           // n, the number of the document
	valueTerm struct{ of value } // a field or a variable
	binary2   struct {
		op   byte
		a, b term
	}
	call struct {
		name string
		args []term
	}
)

func (t literal) eval([]byte, *env) number { return number(t) }

func (numberOf) eval(_ []byte, e *env) number { return number{whole: true, i: e.n} }

func (t valueTerm) eval(dst []byte, e *env) number {
	kind, data := raw(t.of, dst, e)
	switch kind {
	case rawbson.Int32:
		return number{whole: true, i: int64(int32(binary.LittleEndian.Uint32(data)))}
	case rawbson.Int64, rawbson.Date:
		return number{whole: true, date: kind == rawbson.Date, i: int64(binary.LittleEndian.Uint64(data))}
	case rawbson.Double:
		return number{f: math.Float64frombits(binary.LittleEndian.Uint64(data))}
	case rawbson.Decimal:
		return number{f: decimalFloat(data)}
	}
	return number{whole: true}
}

// raw returns the bytes of a field, variable or constant without copying them.
func raw(v value, dst []byte, e *env) (kind byte, data []byte) {
	switch v := v.(type) {
	case fieldValue:
		s := e.fields[v.number]
		return s.kind, dst[s.start:s.end]
	case variablePath:
		return v.get(e)
	case constant:
		return v.kind, v.data
	}
	return absent, nil
}

// A date plus or minus milliseconds is a date.
func (t binary2) eval(dst []byte, e *env) number {
	a, b := t.a.eval(dst, e), t.b.eval(dst, e)
	n := t.apply(a, b)
	if a.date != b.date && (t.op == '+' || t.op == '-') {
		return number{whole: true, date: true, i: n.rounded()}
	}
	return n
}

func (t binary2) apply(a, b number) number {
	if a.whole && b.whole && t.op != '/' {
		switch t.op {
		case '+':
			return number{whole: true, i: a.i + b.i}
		case '-':
			return number{whole: true, i: a.i - b.i}
		case '*':
			return number{whole: true, i: a.i * b.i}
		}
		if b.i == 0 {
			return number{whole: true}
		}
		return number{whole: true, i: a.i % b.i}
	}
	x, y := a.float(), b.float()
	switch t.op {
	case '+':
		x += y
	case '-':
		x -= y
	case '*':
		x *= y
	case '/':
		x /= y
	default:
		x = math.Mod(x, y)
	}
	return number{f: x}
}

// functions are those of calculations with the number of their arguments.
var functions = map[string]int{"round": 2, "floor": 1, "abs": 1, "min": 2, "max": 2}

func (t call) eval(dst []byte, e *env) number {
	a := t.args[0].eval(dst, e)
	var b number
	if len(t.args) > 1 {
		b = t.args[1].eval(dst, e)
	}
	switch t.name {
	case "round":
		unit := math.Pow10(int(b.float()))
		return number{f: math.Round(a.float()*unit) / unit}
	case "floor":
		if a.whole {
			return a
		}
		return number{whole: true, i: int64(math.Floor(a.f))}
	case "abs":
		if a.whole && a.i < 0 {
			return number{whole: true, i: -a.i}
		}
		a.f = math.Abs(a.f)
		return a
	case "min":
		if b.float() < a.float() {
			return b
		}
	case "max":
		if b.float() > a.float() {
			return b
		}
	}
	return a
}

// calculated is the value of a calculation.
type calculated struct{ of term }

func (v calculated) append(dst []byte, e *env) ([]byte, byte) {
	n := v.of.eval(dst, e)
	switch {
	case n.date:
		return binary.LittleEndian.AppendUint64(dst, uint64(n.i)), rawbson.Date
	case !n.whole:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(n.f)), rawbson.Double
	case n.i >= math.MinInt32 && n.i <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(dst, uint32(n.i)), rawbson.Int32
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(n.i)), rawbson.Int64
}

func calculation(_ *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	p := &parser{at: arg, s: s, rest: arg.Value}
	t, err := p.sum()
	if err == nil && p.peek() != 0 {
		err = p.fail("%q is left over", p.rest)
	}
	if err != nil {
		return nil, err
	}
	return calculated{t}, nil
}

// parser reads a calculation.
type parser struct {
	at    *yaml.Node
	s     *scope
	rest  string
	depth int
}

func (p *parser) fail(format string, args ...any) error {
	return errorAt(p.at, "$calc %q: %s", p.at.Value, fmt.Sprintf(format, args...))
}

// peek returns the next character that is no blank, 0 at the end.
func (p *parser) peek() byte {
	if p.rest = strings.TrimLeft(p.rest, " \t"); p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *parser) sum() (term, error)     { return p.chain("+-", p.product) }
func (p *parser) product() (term, error) { return p.chain("*/%", p.factor) }

func (p *parser) chain(ops string, next func() (term, error)) (term, error) {
	a, err := next()
	for err == nil && p.peek() != 0 && strings.IndexByte(ops, p.peek()) >= 0 {
		op := p.peek()
		p.rest = p.rest[1:]
		var b term
		if b, err = next(); err == nil {
			a = binary2{op, a, b}
		}
	}
	return a, err
}

func (p *parser) factor() (term, error) {
	if p.depth++; p.depth > 100 {
		return nil, p.fail("it is nested too deeply")
	}
	defer func() { p.depth-- }()
	switch ch := p.peek(); {
	case ch == '-':
		p.rest = p.rest[1:]
		t, err := p.factor()
		return binary2{'-', literal{whole: true}, t}, err
	case ch == '(':
		p.rest = p.rest[1:]
		t, err := p.sum()
		if err == nil && p.peek() != ')' {
			err = p.fail("a ) is missing")
		}
		if err != nil {
			return nil, err
		}
		p.rest = p.rest[1:]
		return t, nil
	case ch >= '0' && ch <= '9' || ch == '.':
		return p.literal()
	}
	return p.word()
}

func (p *parser) cut(keep func(r rune) bool) string {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !keep(r) })
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

func (p *parser) literal() (term, error) {
	digits := p.cut(func(r rune) bool { return unicode.IsDigit(r) || r == '.' })
	if i, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return literal{whole: true, i: i}, nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return nil, p.fail("%q is not a number", digits)
	}
	return literal{f: f}, nil
}

func (p *parser) word() (term, error) {
	name := p.cut(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' })
	if name == "" {
		return nil, p.fail("a value is missing before %q", p.rest)
	}
	if p.peek() != '(' {
		if v, ok := p.s.find(name); ok {
			return valueTerm{v}, nil
		}
		if v, ok := p.s.variable(name); ok {
			return valueTerm{v}, nil
		}
		if name == "n" {
			return numberOf{}, nil
		}
		return nil, p.fail("there is no field or variable %s before it%s", name, nearest.DidYouMean(name, p.s.names()))
	}
	want, ok := functions[name]
	if !ok {
		var known []string
		for f := range functions {
			known = append(known, f)
		}
		return nil, p.fail("there is no function %s%s", name, nearest.DidYouMean(name, known))
	}
	t := call{name: name}
	for p.peek() == '(' || p.peek() == ',' {
		p.rest = p.rest[1:]
		a, err := p.sum()
		if err != nil {
			return nil, err
		}
		t.args = append(t.args, a)
	}
	if p.peek() != ')' || len(t.args) != want {
		return nil, p.fail("%s needs %d values in parentheses", name, want)
	}
	p.rest = p.rest[1:]
	return t, nil
}

// formatted is a text with values in it.
type formatted []struct {
	text string
	of   value
}

func format(_ *compiler, _, arg *yaml.Node, s *scope) (value, error) {
	var f formatted
	for rest := arg.Value; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		piece := struct {
			text string
			of   value
		}{text: before}
		if found {
			name, tail, closed := strings.Cut(after, "}")
			if !closed {
				return nil, errorAt(arg, "$format %q: a } is missing", arg.Value)
			}
			var ok bool
			if piece.of, ok = s.find(name); !ok {
				piece.of, ok = s.variable(name)
			}
			if !ok && name == "n" {
				piece.of, ok = calculated{numberOf{}}, true
			}
			if !ok {
				return nil, unknownField(arg, name, s)
			}
			after = tail
		}
		f = append(f, piece)
		rest = after
		if !found {
			break
		}
	}
	return f, nil
}

func (f formatted) append(dst []byte, e *env) ([]byte, byte) {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for i := range f {
		dst = append(dst, f[i].text...)
		if f[i].of == nil {
			continue
		}
		if c, ok := f[i].of.(calculated); ok {
			dst = strconv.AppendInt(dst, c.of.eval(dst, e).i, 10)
			continue
		}
		kind, data := raw(f[i].of, dst, e)
		dst = appendPlain(dst, kind, data)
	}
	return closeText(dst, at), rawbson.String
}

// appendPlain appends a value as people write it.
func appendPlain(dst []byte, kind byte, data []byte) []byte {
	switch kind {
	case rawbson.String:
		return append(dst, data[4:len(data)-1]...)
	case rawbson.Int32:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(data))), 10)
	case rawbson.Int64:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(data)), 10)
	case rawbson.Double:
		return strconv.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(data)), 'g', -1, 64)
	case rawbson.Decimal:
		return strconv.AppendFloat(dst, decimalFloat(data), 'f', -1, 64)
	case rawbson.Bool:
		return strconv.AppendBool(dst, data[0] != 0)
	case rawbson.Date:
		return time.UnixMilli(int64(binary.LittleEndian.Uint64(data))).UTC().AppendFormat(dst, time.RFC3339)
	case rawbson.ObjectID:
		return hex.AppendEncode(dst, data)
	case rawbson.Binary:
		return hex.AppendEncode(dst, data[5:])
	}
	return append(dst, '?')
}

// decimalFloat reads a number of $decimal, whose digits fit into 64 bits.
func decimalFloat(data []byte) float64 {
	exponent := int(binary.LittleEndian.Uint64(data[8:])>>49) - 6176
	return float64(binary.LittleEndian.Uint64(data)) * math.Pow10(exponent)
}
