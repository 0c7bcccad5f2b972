package chart

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got, -update rewrites it):\n%s", name, d)
	}
}

// wellFormed makes sure that a drawing is one element with balanced tags and a title and description.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	seen := map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			seen[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.HasPrefix(a.Name.Local, "on") ||
					a.Name.Local == "style" {
					t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		}
	}
	if seen["svg"] != 1 || seen["title"] < 1 || seen["desc"] != 1 {
		t.Errorf("elements %v", seen)
	}
}

func charts() map[string]Chart {
	nan := math.NaN()
	return map[string]Chart{
		"lines": &XY{
			Frame: Frame{ID: "a", Title: "Throughput", Description: "It rises."},
			X:     Axis{Label: "time; n = 4 bins", Unit: Seconds}, Y: Axis{Label: "operations per second", Unit: PerSecond, Zero: true},
			Series: []Series{
				{Name: "ok", X: []float64{0, 10, 20, 30}, Y: []float64{900, 1100, nan, 1200}},
				{Name: "offered", X: []float64{0, 10, 20, 30}, Y: []float64{1200, 1200, 1200, 1200}, Style: Dashed, Colour: 1},
			},
			Marks: []Mark{{X: 12, Text: "checkpoint", Kind: "event"}}, Spans: []Span{{From: 5, To: 30, Text: "measured"}},
			Limits: []Limit{{Y: 1000, Text: "objective rate>1000"}},
		},
		"folded": &XY{
			Frame: Frame{ID: "b", Title: "Latency over throughput", Description: "It folds back."},
			X:     Axis{Label: "ok/s; n = 4 trials", Unit: PerSecond, Zero: true}, Y: Axis{Label: "p99", Unit: Nanoseconds, Log: true},
			Series: []Series{{Name: "p99", X: []float64{1000, 2000, 2500, 2200}, Y: []float64{1e6, 2e6, 9e6, 5e7},
				Low:  []float64{0.9e6, 1.8e6, 7e6, 4e7},
				High: []float64{1.1e6, 2.3e6, 1e7, 6e7}, Dots: true, Notes: []string{"first", "second", "third", "fourth"}}},
		},
		"cycle": &Cycle{
			Frame: Frame{ID: "cycle", Title: "Read skew", Description: "A before B, B before A."},
			Nodes: []CycleNode{{Title: "A: session 3 on a:1, 1.2 s to 1.3 s", Lines: []string{"read key 4 version 17", "read key 5 version 2"}},
				{Title: "B: session 7 on a:1, 1.21 s to 1.25 s", Lines: []string{"wrote key 4", "wrote key 5"}}},
			Edges: []CycleEdge{{Text: "rw: B replaced version 17 of key 4, which A read", Style: Dashed, Colour: 1},
				{Text: "wr: A read version 2 of key 5, which B wrote, although it has to come before B in every order of both"}},
		},
		"rows": &Rows{
			Frame: Frame{ID: "c", Title: "Throughput by workers", Description: "More is more."}, X: Axis{Label: "ok/s", Unit: PerSecond, Zero: true},
			Rows: []Row{{Name: "8 (baseline)", Value: 1000, Low: 980, High: 1020, Text: "1,000, n = 5", Hollow: true},
				{Name: "16", Value: 1900, Low: 1850, High: 1960, Text: "1,900, n = 5", Published: 1700},
				{Name: "32", Value: nan, Low: nan, High: nan, Text: "-"}},
		},
		"forest": &Rows{
			Frame: Frame{ID: "d", Title: "Ratios", Description: "One is worse."}, X: Axis{Label: "value / baseline", Log: true}, Dots: true,
			Reference: 1, ReferenceText: "no change", BandLow: 0.97, BandHigh: 1.03,
			Rows: []Row{{Name: "b", Group: "throughput", Value: 0.8, Low: 0.7, High: 0.9, Text: "-20.0 % worse", Colour: 1},
				{Name: "c", Group: "throughput", Value: 1.01, Low: 0.9, High: 1.1, Text: "+1.0 % ~", Hollow: true}},
		},
		"dense": &Rows{
			Frame: Frame{ID: "g", Title: "The document and here", Description: "They agree."}, X: Axis{Label: "ratio", Log: true}, Dots: true,
			Dense: true, Reference: 1, ReferenceText: "own baseline",
			Rows: []Row{{Name: strings.Repeat("a long name ", 8), Group: "figure 2", Value: 2, Low: 1.5, High: 2.5,
				Published: 2.2, Class: "good", Text: "agrees", Note: "there +120 %, here +100 %"},
				{Name: "b", Group: "figure 3", Value: 0.8, Low: nan, High: nan, Published: 1.3, Class: "warn", Hollow: true, Text: "disagrees"}},
		},
		"heat": &Heat{
			Frame: Frame{ID: "e", Title: "Latency heatmap", Description: "Two kinds of answers."}, What: "operations",
			X: Axis{Label: "time; n = 1,110", Unit: Seconds, Low: 0, High: 20}, Y: Axis{Label: "response time", Unit: Nanoseconds, Log: true},
			Cells: []Cell{{0, 10, 1e6, 2e6, 1000}, {10, 20, 1e6, 2e6, 100}, {10, 20, 5e6, 1e7, 10}},
		},
		"empty": &XY{Frame: Frame{ID: "f", Title: "Nothing", Description: "Nothing was measured."},
			Series: []Series{{Name: "none", X: []float64{nan}, Y: []float64{nan}}}},
	}
}

func TestSpark(t *testing.T) {
	nan := math.NaN()
	line := Spark{Label: "<ok/s>", Values: []float64{1, 2, nan, 4, 4}, Measured: 1, Marks: []float64{2, 99}}.Draw()
	dots := Spark{Values: []float64{3, 2, 1}, Dots: true}.Draw()
	golden(t, "spark.svg", line+"\n"+dots+"\n")
	for _, empty := range [][]float64{nil, {1}, {0, 0}, {nan, nan}} {
		if got := (Spark{Values: empty}).Draw(); got != "" {
			t.Errorf("%v is drawn: %s", empty, got)
		}
	}
}

func TestGoldenCharts(t *testing.T) {
	for name, c := range charts() {
		for _, s := range []Size{Wide, Narrow} {
			svg := c.Draw(s)
			wellFormed(t, svg)
			golden(t, name+"-"+s.Name+".svg", svg)
		}
	}
}

func TestHostileTexts(t *testing.T) {
	bad := "</svg><script>alert(1)</script>\"' onload=x \x00\x1b\u202e" + strings.Repeat("x", 5000)
	for name, c := range map[string]Chart{
		"xy": &XY{Frame: Frame{ID: "a", Title: bad, Description: bad}, X: Axis{Label: bad}, Y: Axis{Label: bad},
			Series: []Series{{Name: bad, X: []float64{1, 2}, Y: []float64{1, math.Inf(1)}, Dots: true,
				Notes: []string{bad, bad}}},
			Marks: []Mark{{X: 1, Text: bad, Kind: bad}}, Limits: []Limit{{Y: 1, Text: bad}},
			Spans: []Span{{From: 1, To: 2, Text: bad}}},
		"rows": &Rows{Frame: Frame{ID: "b", Title: bad, Description: bad}, X: Axis{Label: bad},
			Rows: []Row{{Name: bad, Group: bad, Text: bad, Value: 1, Low: 0, High: math.Inf(1)}}},
		"heat": &Heat{Frame: Frame{ID: "c", Title: bad, Description: bad}, What: "x", X: Axis{Label: bad},
			Y: Axis{Label: bad, Log: true}, Cells: []Cell{{0, 1, 1, 2, 3}, {0, 1, -1, 0, 3}}},
	} {
		for _, s := range []Size{Wide, Narrow} {
			svg := c.Draw(s)
			wellFormed(t, svg)
			if strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x00\x1b\u202e") {
				t.Errorf("%s: a text got through", name)
			}
		}
	}
}

// However many points share a pixel, a single peak among them stays visible.
func TestPeaksStayVisible(t *testing.T) {
	s := Series{Name: "p99"}
	for i := range 100_000 {
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, 10)
	}
	s.Y[54_321] = 1000
	c := &XY{Frame: Frame{ID: "a", Title: "t", Description: "d"}, X: Axis{Unit: Seconds}, Y: Axis{Zero: true},
		Series: []Series{s}}
	p := c.layout(Wide, 280)
	svg := c.Draw(Wide)
	if want := number(p.y.at(1000)); !strings.Contains(svg, " "+want+"L") {
		t.Errorf("no point at y = %s", want)
	}
	if len(svg) > 60_000 {
		t.Errorf("%d bytes for one line", len(svg))
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis      Axis
		low, high float64
		want      string
	}{
		{Axis{Unit: Seconds}, 0, 90, "0 s, 15 s, 30 s, 45 s, 1:00 min, 1:15 min, 1:30 min"},
		{Axis{Unit: Seconds}, 0, 86400, "0 s, 6:00 h, 12:00 h, 18:00 h, 24:00 h"},
		{Axis{Unit: Nanoseconds, Log: true}, 1e5, 1e9, "100 µs, 1 ms, 10 ms, 100 ms, 1 s"},
		{Axis{Unit: Nanoseconds, Log: true}, 1e6, 1.1e7, "1 ms, 2 ms, 5 ms, 10 ms"},
		{Axis{Unit: PerSecond}, 0, 30000, "0, 5k, 10k, 15k, 20k, 25k, 30k"},
		{Axis{Unit: Share}, 0, 0.3, "0 %, 5 %, 10 %, 15 %, 20 %, 25 %, 30 %"},
		{Axis{Unit: Bytes}, 0, 4 << 30, "0 B, 1 GiB, 2 GiB, 3 GiB, 4 GiB"},
		{Axis{}, 0, 0.5, "0, 0.1, 0.2, 0.3, 0.4, 0.5"},
	} {
		s := scale{axis: c.axis, low: c.low, high: c.high, a: 0, b: 100}
		var texts []string
		for _, tick := range s.ticks(7) {
			texts = append(texts, tick.Text)
		}
		if got := strings.Join(texts, ", "); got != c.want {
			t.Errorf("%+v from %v to %v: %s, want %s", c.axis, c.low, c.high, got, c.want)
		}
	}
}

func TestNamesDoNotLieOnEachOther(t *testing.T) {
	var labels []placed
	for i := range 6 {
		labels = append(labels, placed{x: 10, y: 100 + float64(i%2), text: fmt.Sprint("name ", i)})
	}
	spread(labels, lineHeight, 20, 200)
	for i := 1; i < len(labels); i++ {
		if d := labels[i].y - labels[i-1].y; d < lineHeight-1 {
			t.Errorf("labels %d and %d are %.1f apart", i-1, i, d)
		}
	}
}

func FuzzDraw(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, "name", true)
	f.Add(math.Inf(1), math.NaN(), -1e308, "\x00<", false)
	f.Add(1e-320, 1e308, 0.0, "", true)
	f.Fuzz(func(t *testing.T, a, b, c float64, name string, log bool) {
		x := &XY{Frame: Frame{ID: "a", Title: name, Description: name}, X: Axis{Label: name, Log: log},
			Y: Axis{Unit: Nanoseconds, Log: log},
			Series: []Series{{Name: name, X: []float64{a, b, c}, Y: []float64{c, a, b}, Low: []float64{a, a, a},
				High: []float64{b, b, b}, Dots: true}},
			Marks: []Mark{{X: a, Text: name}}, Spans: []Span{{From: a, To: b}}, Limits: []Limit{{Y: c, Text: name}}}
		wellFormed(t, x.Draw(Wide))
		r := &Rows{Frame: Frame{ID: "b", Title: name, Description: name}, X: Axis{Log: log}, Dots: log, Reference: a,
			Rows: []Row{{Name: name, Value: a, Low: b, High: c, Text: name}}}
		wellFormed(t, r.Draw(Narrow))
	})
}

// The lines, the water and their names are at their heights, and nothing is drawn outside.
func TestHull(t *testing.T) {
	nan := math.NaN()
	h := &Hull{Frame: Frame{ID: "h", Title: "Load lines", Description: "Three lines."}, Y: Axis{Label: "ops/s", Unit: PerSecond},
		Water: 1400, Text: "1,400 now <b>", Lines: []HullLine{{At: 3100, Low: 2950, High: 3240, Rate: "3,100", Name: "all members up"},
			{At: 2400, Low: 2300, High: nan, Rate: "2,400", Name: "while kill:secondary", Disc: true},
			{At: 2390, Low: nan, High: nan, Name: "x", Dashed: true}}}
	for _, s := range []Size{Wide, Narrow} {
		svg := h.Draw(s)
		wellFormed(t, svg)
		if strings.Contains(svg, "<b>") || strings.Count(svg, `class="disc"`) != 1 || strings.Count(svg, `class="ll dash"`) != 1 ||
			!strings.Contains(svg, `class="water"`) {
			t.Errorf("%s: %s", s.Name, svg)
		}
		if !strings.Contains(svg, "while kill:secondary") {
			t.Errorf("%s: a name is shortened: %s", s.Name, svg)
		}
		p := h.place(s)
		water, low, high := p.y.at(1400), p.y.at(2400), p.y.at(3100)
		if !(high < low && low < water && water < p.bottom && high > hullTop) {
			t.Errorf("%s: heights %v, %v, %v", s.Name, high, low, water)
		}
	}
	h.Water, h.Lines = nan, h.Lines[:1]
	if svg := h.Draw(Wide); strings.Contains(svg, "water") || strings.Contains(svg, "NaN") {
		t.Errorf("without water: %s", svg)
	}
}
