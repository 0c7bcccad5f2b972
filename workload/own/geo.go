package own

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// interval is a range of numbers, both included: written as a number, or as {min, max}.
type interval struct{ min, max float64 }

func (x interval) pick(r *workload.Random) float64 { return x.min + r.Float()*(x.max-x.min) }

// interval reads a range of numbers within [low, high].
func (o *options) interval(key string, fallback interval, low, high float64) interval {
	n := o.keys[key]
	if n == nil {
		return fallback
	}
	var x interval
	if n.Kind == yaml.MappingNode {
		in := o.c.read(&yaml.Node{Value: key + " of " + o.name.Value, Line: n.Line}, n, "min", "max")
		x.min = in.number("min", low)
		x.max = in.number("max", x.min)
		if o.err == nil {
			o.err = in.err
		}
	} else {
		x.min = o.number(key, 0)
		x.max = x.min
	}
	if x.min < low || x.max > high || x.max < x.min {
		o.fail(n, "%s of %s: from %v to %v is not a range from %v to %v", key, o.name.Value, x.min, x.max, low, high)
	}
	return x
}

// geoKinds are the GeoJSON types that can be made, and those of indexes of the kind 2d: a pair of numbers, a box of two
// pairs, and a ring of several.
var geoKinds = []string{"Point", "MultiPoint", "LineString", "Polygon", "pair", "box", "ring"}

// geoValue is a place. Lines and polygons have points at a distance of a radius around it.
type geoValue struct {
	kind             string
	lon, lat, radius interval // degrees
	points           extent
	x, y             *even
}

func geo(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "type", "lon", "lat", "radius", "points", "even")
	v := &geoValue{kind: o.text("type"), lon: o.interval("lon", interval{-180, 180}, -180, 180),
		lat: o.interval("lat", interval{-90, 90}, -90, 90), radius: o.interval("radius", interval{0.01, 0.01}, 0, 90),
		points: o.extent("points", 4)}
	if o.text("even") == "true" {
		v.x, v.y = c.place(s)
	}
	if v.kind == "" {
		v.kind = "Point"
	}
	if !slices.Contains(geoKinds, v.kind) {
		o.fail(o.keys["type"], "unknown type %q of $geo%s (known: %s)", v.kind, nearest.DidYouMean(v.kind, geoKinds),
			strings.Join(geoKinds, ", "))
	}
	if least := map[string]int64{"LineString": 2, "Polygon": 3, "ring": 3}[v.kind]; v.points.least < max(least, 1) || v.points.most() > 10_000 {
		o.fail(arg, "points of $geo: a %s has from %d to 10000 points", v.kind, max(least, 1))
	}
	return v, o.err
}

// pairBytes is the size of an element of an array with two numbers.
const pairBytes = 2*(1+2+8) + 5 + elementHead

func (v *geoValue) most() int64 { return 64 + (v.points.most()+1)*pairBytes }

func (v *geoValue) append(dst []byte, e *env) ([]byte, byte) {
	lon, lat := v.x.in(v.lon, e), v.y.in(v.lat, e)
	switch v.kind {
	case "pair":
		return appendPair(dst, lon, lat), rawbson.Array
	case "box":
		radius := v.radius.pick(&e.r)
		dst, at := rawbson.Open(dst)
		dst = appendPair(appendIndex(append(dst, rawbson.Array), 0), lon-radius, lat-radius)
		dst = appendPair(appendIndex(append(dst, rawbson.Array), 1), lon+radius, lat+radius)
		return rawbson.Close(dst, at), rawbson.Array
	case "ring":
		dst, at := rawbson.Open(dst)
		return rawbson.Close(v.around(dst, e, lon, lat), at), rawbson.Array
	}
	dst, doc := rawbson.Open(dst)
	dst = bsoncore.AppendStringElement(dst, "type", v.kind)
	dst = bsoncore.AppendHeader(dst, rawbson.Array, "coordinates")
	if v.kind == "Point" {
		return rawbson.Close(appendPair(dst, lon, lat), doc), rawbson.Document
	}
	dst, outer := rawbson.Open(dst)
	if v.kind == "Polygon" {
		dst = bsoncore.AppendHeader(dst, rawbson.Array, "0")
		var ring int
		dst, ring = rawbson.Open(dst)
		dst = rawbson.Close(v.around(dst, e, lon, lat), ring)
	} else {
		dst = v.around(dst, e, lon, lat)
	}
	return rawbson.Close(rawbson.Close(dst, outer), doc), rawbson.Document
}

// around appends points on a circle, counterclockwise. The ring of a polygon ends where it begins.
func (v *geoValue) around(dst []byte, e *env, lon, lat float64) []byte {
	n, radius := int(v.points.pick(&e.r)), v.radius.pick(&e.r)
	turn := 0.5 / float64(n) // so that four points are a box along the axes
	// A degree of longitude is shorter away from the equator.
	wide := radius / max(math.Cos(lat*math.Pi/180), 0.01)
	last := n
	if v.kind == "Polygon" {
		last++
	}
	for i := range last {
		angle := 2 * math.Pi * (float64(i%n)/float64(n) + turn)
		dst = appendIndex(append(dst, rawbson.Array), i)
		dst = appendPair(dst, bounded(lon+wide*math.Cos(angle), 180), bounded(lat+radius*math.Sin(angle), 90))
	}
	return dst
}

func bounded(x, most float64) float64 { return max(-most, min(x, most)) }

// appendPair appends an array of two numbers.
func appendPair(dst []byte, x, y float64) []byte {
	dst, at := rawbson.Open(dst)
	for i, f := range [2]float64{x, y} {
		dst = appendIndex(append(dst, rawbson.Double), i)
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	}
	return rawbson.Close(dst, at)
}
