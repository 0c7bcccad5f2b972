package recorded

import (
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// geoTypes are the kinds of places, in the words of GeoJSON. A pair is two numbers, as indexes of the kind 2d have, a
// box two pairs, and a ring several.
var geoTypes = []string{"Point", "MultiPoint", "LineString", "Polygon", "pair", "box", "ring"}

// geo shapes a place in a query. Its operators, the type of GeoJSON and numbers that are distances are its shape.
func (w *walker) geo(field string, v bson.RawValue) any {
	if w.typed {
		return w.hole(field, v)
	}
	if v.Type == bson.TypeArray {
		return w.place(field, "pair", v)
	}
	if kind, _, ok := geoJSON(v); ok {
		return w.place(field, kind, v)
	}
	out := bson.D{}
	for _, e := range documentOf(v) {
		key, val := e.Key(), e.Value()
		var shaped any
		switch key {
		case "$geometry":
			kind, _, _ := geoJSON(val)
			shaped = w.place(field, kind, val)
		case "$center", "$centerSphere":
			values, _ := val.ArrayOK()
			list, err := values.Values()
			if err != nil || len(list) != 2 {
				return w.hole(field, v)
			}
			shaped = bson.A{w.place(field, "pair", list[0]), w.plainHole(list[1])}
		case "$box":
			shaped = w.place(field, "box", val)
		case "$polygon":
			shaped = w.place(field, "ring", val)
		case "$maxDistance", "$minDistance":
			shaped = w.plainHole(val)
		default:
			shaped = plainValue(val)
		}
		out = append(out, bson.E{Key: key, Value: shaped})
	}
	return out
}

// place replaces a place by a hole whose kind is its type.
func (w *walker) place(field, kind string, v bson.RawValue) any {
	shaped := w.hole(field, v)
	if h, ok := shaped.(*Hole); ok && slices.Contains(geoTypes, kind) {
		h.Kind = kind
	}
	return shaped
}

// geoJSON returns the type and the coordinates of a GeoJSON object.
func geoJSON(v bson.RawValue) (kind string, coordinates bson.RawArray, ok bool) {
	doc, ok := v.DocumentOK()
	if !ok {
		return "", nil, false
	}
	kind, _ = doc.Lookup("type").StringValueOK()
	coordinates, ok = doc.Lookup("coordinates").ArrayOK()
	return kind, coordinates, ok && slices.Contains(geoTypes, kind)
}

// Places describes places without keeping them.
type Places struct {
	Types            map[string]int64
	Lon, Lat, Radius Range // degrees, of the middle
	Points           Range // of lines and polygons
}

// add describes one more place.
func (p *Places) add(kind string, coordinates bson.RawArray) {
	var points [][2]float64
	positions(coordinates, &points, 0)
	if len(points) == 0 {
		return
	}
	if p.Types == nil {
		p.Types = map[string]int64{}
	}
	p.Types[kind]++
	low, high := points[0], points[0]
	for _, at := range points {
		for i, x := range at {
			low[i], high[i] = min(low[i], x), max(high[i], x)
		}
	}
	p.Lon.add((low[0] + high[0]) / 2)
	p.Lat.add((low[1] + high[1]) / 2)
	if kind == "Point" || kind == "pair" {
		return
	}
	n := len(points)
	if kind == "Polygon" {
		n-- // the ring ends where it begins
	}
	p.Points.add(float64(max(n, 1)))
	p.Radius.add(radius(kind, points, n, low, high))
}

// radius is that of a regular polygon with as many corners and the same area, or of the circle around a line.
func radius(kind string, points [][2]float64, n int, low, high [2]float64) float64 {
	narrow := math.Max(math.Cos((low[1]+high[1])/2*math.Pi/180), 0.01)
	if kind == "box" {
		return math.Sqrt((high[0]-low[0])*(high[1]-low[1])) / 2
	}
	if kind != "Polygon" && kind != "ring" || n < 3 {
		return math.Hypot((high[0]-low[0])*narrow, high[1]-low[1]) / 2
	}
	area := 0.0
	for i := range n {
		a, b := points[i], points[(i+1)%n]
		area += (a[0]*b[1] - b[0]*a[1]) * narrow / 2
	}
	return math.Sqrt(2 * math.Abs(area) / (float64(n) * math.Sin(2*math.Pi/float64(n))))
}

// positions collects the pairs of numbers in an array of any depth.
func positions(of bson.RawArray, to *[][2]float64, depth int) {
	values, err := of.Values()
	if err != nil || depth > 4 || len(*to) > 10_000 {
		return
	}
	if len(values) >= 2 {
		x, xok := values[0].AsFloat64OK()
		y, yok := values[1].AsFloat64OK()
		if xok && yok && !math.IsNaN(x) && !math.IsNaN(y) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
			*to = append(*to, [2]float64{x, y})
			return
		}
	}
	for _, v := range values {
		if in, ok := v.ArrayOK(); ok {
			positions(in, to, depth+1)
		}
	}
}

// template makes the generator of places of one type.
func (p *Places) template(kind string) any {
	g := bson.D{{Key: "type", Value: kind}, {Key: "lon", Value: box(p.Lon, 180)}, {Key: "lat", Value: box(p.Lat, 90)}}
	if p.Points.N > 0 && kind != "Point" && kind != "pair" {
		least := map[string]float64{"LineString": 2, "Polygon": 3, "ring": 3}[kind]
		points := math.Min(math.Max(math.Round(p.Points.Mean()), math.Max(least, 1)), 10_000)
		g = append(g, bson.E{Key: "radius", Value: math.Min(round3(p.Radius.Mean()), 90)}, bson.E{Key: "points", Value: int64(points)})
	}
	return evenly(one("$geo", g))
}

// choose makes the generator of places of all types.
func (p *Places) choose() any {
	var of, weights bson.A
	for _, kind := range sortedKeys(p.Types) {
		of, weights = append(of, p.template(kind)), append(weights, p.Types[kind])
	}
	return weighted(of, weights)
}

// box is a range of degrees, to a hundredth of its length.
func box(r Range, most float64) any {
	unit := 0.01
	if span := r.Max - r.Min; span > 0 {
		unit = math.Pow(10, math.Floor(math.Log10(span))-2)
	}
	round := func(x float64) float64 { // without the digits that the division adds
		x = math.Max(-most, math.Min(math.Round(x/unit)*unit, most))
		return math.Round(x*1e9) / 1e9
	}
	return bson.D{{Key: "min", Value: round(r.Min)}, {Key: "max", Value: round(r.Max)}}
}
