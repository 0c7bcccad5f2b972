package own

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// generator compiles one use of a generator.
type generator func(c *compiler, name, arg *yaml.Node, s *scope) (value, error)

var generators map[string]generator

func init() { // the functions refer to the table
	generators = map[string]generator{
		"$int": wholeNumber, "$long": wholeNumber, "$double": double, "$decimal": decimal, "$bool": truth,
		"$string": randomText, "$words": words, "$date": date, "$objectId": objectID, "$uuid": uuid, "$binary": binaryData,
		"$choose": choose, "$array": repeated, "$optional": optional, "$sequence": sequence,
		"$ref": reference, "$uniform": reference, "$zipf": reference, "$latest": reference, "$hotspot": reference,
		"$sequential": reference, "$calc": calculation, "$format": format, "$field": field, "$var": variableValue,
		"$geo": geo, "$pattern": pattern,
	}
}

func generatorNames() []string { return slices.Sorted(maps.Keys(generators)) }

// rank draws from [0, n): all equally often, or low ones more often.
type rank struct {
	n    int64
	skew *workload.Skew
	even *even
}

// rank reads the key skew of a generator with n different values.
func (o *options) rank(n int64) rank {
	r := rank{n: max(n, 1)}
	if theta := o.number("skew", 0); theta != 0 {
		if theta < 0 || theta > 10 {
			o.fail(o.keys["skew"], "skew of %s is %v: it must be above 0 and at most 10", o.name.Value, theta)
			return r
		}
		r.skew = workload.NewSkew(r.n, theta)
	}
	return r
}

// draw draws for a document or an operation.
func (r rank) draw(e *env) int64 {
	if r.even != nil {
		return r.even.below(r.n, e)
	}
	return r.next(&e.r)
}

func (r rank) next(from *workload.Random) int64 {
	if r.skew != nil {
		return r.skew.Next(from)
	}
	return from.Below(r.n)
}

// wholeValue is a whole number of 32 or 64 bits.
type wholeValue struct {
	min  int64
	rank rank
	long bool
}

func wholeNumber(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "max", "min", "skew", "even")
	v := wholeValue{long: name.Value == "$long"}
	low, high := int64(math.MinInt32), int64(math.MaxInt32)
	if v.long {
		low, high = math.MinInt64/4, math.MaxInt64/4
	}
	v.min = o.whole("min", 0)
	most := o.whole("max", high)
	switch {
	case v.min < low || most > high:
		o.fail(arg, "%s from %d to %d does not fit: it must be from %d to %d", name.Value, v.min, most, low, high)
	case most < v.min:
		o.fail(arg, "%s: max (%d) is less than min (%d)", name.Value, most, v.min)
	}
	v.rank = o.rank(most - v.min + 1)
	v.rank.even = o.even(s)
	return v, o.err
}

func (v wholeValue) append(dst []byte, e *env) ([]byte, byte) {
	n := v.min + v.rank.draw(e)
	if v.long {
		return binary.LittleEndian.AppendUint64(dst, uint64(n)), rawbson.Int64
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(n)), rawbson.Int32
}

type doubleValue struct {
	min, span float64
	round     float64 // 10^digits, 0 for none
	even      *even
}

func double(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "max", "min", "round", "even")
	v := doubleValue{min: o.number("min", 0), even: o.even(s)}
	if v.span = o.number("max", 1) - v.min; v.span < 0 {
		o.fail(arg, "$double: max is less than min (%v)", v.min)
	}
	if o.has("round") {
		v.round = math.Pow(10, float64(o.whole("round", 0)))
	}
	return v, o.err
}

func (v doubleValue) append(dst []byte, e *env) ([]byte, byte) {
	f := v.min + v.even.next(e)*v.span
	if v.round != 0 {
		f = math.Round(f*v.round) / v.round
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), rawbson.Double
}

// decimalValue is a decimal number of digits that fit into 63 bits.
type decimalValue struct {
	min  int64
	rank rank
	high uint64 // exponent
}

func decimal(c *compiler, name, arg *yaml.Node, _ *scope) (value, error) {
	o := c.read(name, arg, "max", "min", "scale", "skew")
	scale := o.whole("scale", 2)
	if scale < 0 || scale > 15 {
		o.fail(arg, "scale of $decimal is %d: it must be from 0 to 15", scale)
	}
	unit := math.Pow(10, float64(scale))
	low, high := o.number("min", 0)*unit, o.number("max", 1000)*unit
	if !(low >= 0 && high >= low && high < 1<<53) {
		o.fail(arg, "$decimal: min and max must be from 0 to %.0f, and max not below min", (1<<53)/unit)
	}
	const bias = 6176
	v := decimalValue{min: int64(math.Round(low)), high: uint64(bias-scale) << 49}
	v.rank = o.rank(int64(math.Round(high)) - v.min + 1)
	return v, o.err
}

func (v decimalValue) append(dst []byte, e *env) ([]byte, byte) {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(v.min+v.rank.next(&e.r)))
	return binary.LittleEndian.AppendUint64(dst, v.high), rawbson.Decimal
}

type truthValue float64

func truth(c *compiler, name, arg *yaml.Node, _ *scope) (value, error) {
	o := c.read(name, arg, "share")
	return truthValue(o.share("share", 0.5)), o.err
}

func (v truthValue) append(dst []byte, e *env) ([]byte, byte) {
	if e.r.Float() < float64(v) {
		return append(dst, 1), rawbson.Bool
	}
	return append(dst, 0), rawbson.Bool
}

// textValue is a text of random letters. With values, there are so many different ones.
type textValue struct {
	size   extent
	from   []byte
	values rank
	few    bool
	begins *begins // nil for none
	salt   uint64
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

func randomText(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "size", "from", "values", "skew", "begins", "begin")
	v := &textValue{size: o.extent("size", 10), from: []byte(letters), few: o.has("values")}
	if o.has("from") {
		v.from = []byte(o.text("from"))
	}
	for _, b := range v.from {
		if b == 0 || b >= 0x80 {
			o.fail(o.keys["from"], "from of $string: only ASCII letters, digits and signs can be used")
			break
		}
	}
	// The same letters and sizes give the same texts, so a filter can find what a document has.
	v.salt = saltOf(c.spec.Seed, fmt.Sprintf("%s %v", v.from, v.size))
	n := o.whole("values", 1)
	if len(v.from) == 0 || n < 1 {
		o.fail(arg, "$string needs at least one letter and one value")
	}
	v.values = o.rank(n)
	if o.has("begins") {
		b := o.begins(s)
		v.begins = &b
	}
	return v, o.err
}

func (v *textValue) append(dst []byte, e *env) ([]byte, byte) {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if v.few {
		var r workload.Random
		r.SeedRecord(v.salt, v.values.next(&e.r))
		dst = v.letters(dst, &r, nil)
	} else {
		dst = v.letters(dst, &e.r, e)
	}
	return closeText(dst, at), rawbson.String
}

// letters takes six bits of randomness for each letter if there are 64 letters.
func (v *textValue) letters(dst []byte, r *workload.Random, e *env) []byte {
	n := v.size.pick(r)
	if v.begins != nil {
		var begin int64
		if e == nil { // the text depends on r only
			begin = v.begins.count.next(r)
		} else {
			begin = v.begins.count.draw(e)
		}
		dst = v.begins.append(dst, begin)
		n -= int64(v.begins.size)
	}
	if len(v.from) != 64 {
		for range n {
			dst = append(dst, v.from[r.Below(int64(len(v.from)))])
		}
		return dst
	}
	for ; n > 0; n -= 10 {
		bits := r.Uint64()
		for range min(n, 10) {
			dst = append(dst, v.from[bits&63])
			bits >>= 6
		}
	}
	return dst
}

type wordsValue struct {
	count extent
	from  []string
	rank  rank
}

func words(c *compiler, name, arg *yaml.Node, _ *scope) (value, error) {
	o := c.read(name, arg, "count", "from", "skew")
	v := &wordsValue{count: o.extent("count", 5), from: workload.Prose()}
	if n := o.keys["from"]; n != nil {
		v.from = nil
		for _, w := range n.Content {
			v.from = append(v.from, resolve(w).Value)
		}
		if len(v.from) == 0 {
			o.fail(n, "from of $words needs a list of words")
		}
	}
	v.rank = o.rank(int64(len(v.from)))
	return v, o.err
}

func (v *wordsValue) append(dst []byte, e *env) ([]byte, byte) {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for i := range v.count.pick(&e.r) {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, v.from[v.rank.next(&e.r)]...)
	}
	return closeText(dst, at), rawbson.String
}

// dateValue is a date in a range.
type dateValue struct {
	min  int64
	rank rank
}

// stepDate is a date that advances with the number of the document.
type stepDate struct{ start, every int64 }

// nowDate is the time at which the operation is made, moved by some milliseconds.
type nowDate int64

func date(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	if arg.Kind == yaml.ScalarNode && arg.Value == "now" {
		c.clock = true
		return nowDate(0), nil
	}
	o := c.read(name, arg, "min", "max", "skew", "even", "start", "every", "now")
	if o.has("start") || o.has("every") {
		every, err := time.ParseDuration(o.text("every"))
		if err != nil || every < time.Millisecond || !o.has("start") || o.has("min") || o.has("max") {
			o.fail(arg, "$date with steps needs start, a date, and every, a time of at least 1ms")
		}
		return stepDate{o.date("start", 0), every.Milliseconds()}, o.err
	}
	if o.has("now") {
		shift, err := time.ParseDuration(o.text("now"))
		if err != nil {
			o.fail(o.keys["now"], "now of $date is %q: write the distance from the present like -10m or 1h", o.text("now"))
		}
		c.clock = true
		return nowDate(shift.Milliseconds()), o.err
	}
	low := o.date("min", 0)
	high := o.date("max", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	if high < low {
		o.fail(arg, "$date: max is before min")
	}
	v := dateValue{low, o.rank(high - low + 1)}
	v.rank.even = o.even(s)
	return v, o.err
}

func (v dateValue) append(dst []byte, e *env) ([]byte, byte) {
	return binary.LittleEndian.AppendUint64(dst, uint64(v.min+v.rank.draw(e))), rawbson.Date
}

func (v stepDate) append(dst []byte, e *env) ([]byte, byte) {
	return binary.LittleEndian.AppendUint64(dst, uint64(v.start+e.n*v.every)), rawbson.Date
}

func (v nowDate) append(dst []byte, _ *env) ([]byte, byte) {
	return binary.LittleEndian.AppendUint64(dst, uint64(time.Now().UnixMilli()+int64(v))), rawbson.Date
}

// numberedID is the ObjectId of a document by its number.
type numberedID struct{}

func (numberedID) append(dst []byte, e *env) ([]byte, byte) {
	return workload.AppendObjectID(dst, e.n), rawbson.ObjectID
}

type randomID struct{}

func (randomID) append(dst []byte, e *env) ([]byte, byte) {
	dst = binary.BigEndian.AppendUint64(dst, e.r.Uint64())
	return binary.BigEndian.AppendUint32(dst, uint32(e.r.Uint64())), rawbson.ObjectID
}

func objectID(c *compiler, name, arg *yaml.Node, _ *scope) (value, error) {
	o := c.read(name, arg, "numbered")
	if c.key || o.text("numbered") == "true" {
		return numberedID{}, o.err
	}
	return randomID{}, o.err
}

type uuidValue struct{}

func uuid(c *compiler, name, arg *yaml.Node, _ *scope) (value, error) {
	return uuidValue{}, c.read(name, arg, "").err
}

func (uuidValue) append(dst []byte, e *env) ([]byte, byte) {
	dst = append(dst, 16, 0, 0, 0, bson.TypeBinaryUUID)
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, e.r.Uint64())
	dst = binary.LittleEndian.AppendUint64(dst, e.r.Uint64())
	dst[at+6], dst[at+8] = dst[at+6]&0x0f|0x40, dst[at+8]&0x3f|0x80
	return dst, rawbson.Binary
}

type binaryValue struct {
	size  extent
	share float64
	kind  byte
}

func binaryData(c *compiler, name, arg *yaml.Node, _ *scope) (value, error) {
	o := c.read(name, arg, "size", "compressible", "subtype")
	v := &binaryValue{size: o.extent("size", 100), share: o.share("compressible", 0), kind: byte(o.whole("subtype", 0))}
	return v, o.err
}

func (v *binaryValue) append(dst []byte, e *env) ([]byte, byte) {
	n := v.size.pick(&e.r)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	return e.r.AppendBytes(append(dst, v.kind), int(n), v.share), rawbson.Binary
}

// choice is one of several values: all equally often, by weights, or the first ones more often.
type choice struct {
	of   []value
	rank rank
	mix  *workload.Mix
	sums []float64 // of the weights, if all values are chosen evenly
	even *even
}

func choose(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "of", "weights", "skew", "even")
	of := o.keys["of"]
	v := &choice{}
	var weights []float64
	switch {
	case of == nil:
	case of.Kind == yaml.SequenceNode:
		for _, n := range of.Content {
			one, err := c.compile(n, newScope(s))
			if err != nil {
				return nil, err
			}
			v.of = append(v.of, one)
		}
		if n := o.keys["weights"]; n != nil {
			weights = o.numbers(n)
			if len(weights) != len(v.of) {
				o.fail(n, "$choose has %d values and %d weights", len(v.of), len(weights))
			}
		}
	case of.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(of.Content); i += 2 {
			v.of = append(v.of, text(of.Content[i].Value))
		}
		weights = o.numbers(of)
	}
	if len(v.of) == 0 {
		o.fail(arg, "$choose needs a list of values, or texts with weights")
	}
	if weights != nil {
		mix, ok := workload.NewMix(weights...)
		if !ok {
			o.fail(arg, "a weight of $choose must be above 0")
		}
		v.mix = &mix
	}
	v.rank = o.rank(int64(len(v.of)))
	if v.even = o.even(s); v.even != nil {
		sum := 0.0
		for i := range v.of {
			w := 1.0
			if weights != nil {
				w = weights[i]
			}
			sum += w
			v.sums = append(v.sums, sum)
		}
	}
	return v, o.err
}

// numbers reads a list of numbers, or the numbers of a mapping.
func (o *options) numbers(n *yaml.Node) []float64 {
	var list []float64
	step, from := 1, 0
	if n.Kind == yaml.MappingNode {
		step, from = 2, 1
	}
	for i := from; i < len(n.Content); i += step {
		f, err := strconv.ParseFloat(n.Content[i].Value, 64)
		if err != nil || !(f >= 0) || math.IsInf(f, 0) {
			o.fail(n.Content[i], "the weight %q is not a number from 0", n.Content[i].Value)
		}
		list = append(list, f)
	}
	return list
}

func (v *choice) append(dst []byte, e *env) ([]byte, byte) {
	if v.even != nil {
		at := v.even.next(e) * v.sums[len(v.sums)-1]
		i := sort.Search(len(v.sums)-1, func(i int) bool { return at < v.sums[i] })
		return v.of[i].append(dst, e)
	}
	if v.mix != nil {
		return v.of[v.mix.Next(&e.r)].append(dst, e)
	}
	return v.of[v.rank.next(&e.r)].append(dst, e)
}

type arrayValue struct {
	of       value
	count    extent
	distinct bool // elements differ
}

func repeated(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "of", "count", "distinct")
	if !o.has("of") {
		o.fail(arg, "$array needs of, the template of its elements")
		return nil, o.err
	}
	of, err := c.compile(o.keys["of"], newScope(s))
	if err != nil {
		return nil, err
	}
	v := &arrayValue{of: of, count: o.extent("count", 3), distinct: o.text("distinct") == "true"}
	if o.err != nil {
		return nil, o.err
	}
	return v, s.fits(name, "$array", v.most())
}

func (v *arrayValue) append(dst []byte, e *env) ([]byte, byte) {
	dst, at := rawbson.Open(dst)
	n, before := 0, e.item
	defer func() { e.item = before }()
	for range v.count.pick(&e.r) {
		item := len(dst)
		e.item++
		dst, n = appendItem(dst, v.of, n, e)
		for range mostDraws {
			if !v.distinct || !hasItem(dst[at+4:item], dst[item:]) {
				break
			}
			e.item++
			dst, n = appendItem(dst[:item], v.of, n-1, e)
		}
	}
	return rawbson.Close(dst, at), rawbson.Array
}

// mostDraws is how often an element is drawn again because the array has it already.
const mostDraws = 20

// hasItem reports whether elements of an array have the value of another one.
func hasItem(elements, item []byte) bool {
	_, want, size := rawbson.Next(item)
	for size > 0 && len(elements) > 0 {
		_, v, n := rawbson.Next(elements)
		if n == 0 {
			return false
		}
		if v.Kind == want.Kind && sameBytes(v.Data, want.Data) {
			return true
		}
		elements = elements[n:]
	}
	return false
}

type optionalValue struct {
	of    value
	share float64
}

func optional(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "value", "share")
	if !o.has("value") {
		o.fail(arg, "$optional needs a value")
		return nil, o.err
	}
	of, err := c.compile(o.keys["value"], newScope(s))
	if err != nil {
		return nil, err
	}
	return &optionalValue{of: of, share: o.share("share", 0.5)}, o.err
}

func (v *optionalValue) append(dst []byte, e *env) ([]byte, byte) {
	if e.r.Float() >= v.share {
		return dst, absent
	}
	return v.of.append(dst, e)
}

// sequenceValue is made of the number of the document.
type sequenceValue struct {
	prefix      string
	digits      int
	start, step int64
	modulo      int64 // 0 for none
	any         bool  // any number below modulo
	hash, text  bool
}

func sequence(c *compiler, name, arg *yaml.Node, _ *scope) (value, error) {
	o := c.read(name, arg, "prefix", "digits", "start", "step", "modulo", "any", "hash")
	v := &sequenceValue{prefix: o.text("prefix"), digits: int(o.whole("digits", 0)), start: o.whole("start", 0),
		step: o.whole("step", 1), modulo: o.whole("modulo", 0), hash: o.text("hash") == "true",
		text: o.has("prefix") || o.has("digits")}
	if v.any = o.text("any") == "true"; v.modulo < 0 || v.any && v.modulo == 0 {
		o.fail(arg, "modulo of $sequence is %d: it must be above 0", v.modulo)
	}
	if v.digits < 0 || v.digits > 30 {
		o.fail(arg, "digits of $sequence is %d: it must be from 0 to 30", v.digits)
	}
	return v, o.err
}

func (v *sequenceValue) append(dst []byte, e *env) ([]byte, byte) {
	n := e.n
	switch {
	case v.any:
		n = e.r.Below(v.modulo)
	case v.modulo > 0:
		n %= v.modulo
	}
	n = v.start + n*v.step
	if v.hash {
		n = workload.HashKey(n)
	}
	if !v.text {
		return binary.LittleEndian.AppendUint64(dst, uint64(n)), rawbson.Int64
	}
	at := len(dst)
	dst = append(append(dst, 0, 0, 0, 0), v.prefix...)
	var digits [20]byte
	number := strconv.AppendInt(digits[:0], n, 10)
	for range v.digits - len(number) {
		dst = append(dst, '0')
	}
	return closeText(append(dst, number...), at), rawbson.String
}
