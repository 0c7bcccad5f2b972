package browser

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/browsertest"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

const firstZoom = `document.querySelector("figure[data-track]").zoom`

// shown is the stretch of time that the first zoomed chart shows, in seconds.
func shown(p *browsertest.Page) (x struct{ Min, Max float64 }) {
	p.Eval(`({Min: `+firstZoom+`.plot.scales.x.min, Max: `+firstZoom+`.plot.scales.x.max})`, &x)
	return x
}

func TestZoom(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir, _ := aRun(t, nil)
	path := write(t, dir)
	p := b.Page(t)
	p.Size(1120, 900, false)
	p.Open("file://" + path)
	p.Wait(firstZoom)
	p.Click("figure[data-track] .tools button")
	p.Wait(`document.querySelector("figure.zooming canvas").width > 500 && ` + firstZoom + `.plot.status === 1`)
	whole := shown(p)
	if whole.Max-whole.Min < 40 {
		t.Fatalf("the whole run is %v to %v s", whole.Min, whole.Max)
	}
	p.Drag("figure.zooming .u-over", 0.4, 0.6)
	p.Wait(firstZoom + `.plot.scales.x.max - ` + firstZoom + `.plot.scales.x.min < 15`)
	dragged := shown(p)
	if dragged.Min < 15 || dragged.Max > 30 {
		t.Errorf("dragging over the middle fifth shows %v to %v s", dragged.Min, dragged.Max)
	}
	p.Click(`figure.zooming button[aria-label="Zoom out"]`)
	out := shown(p)
	if math.Abs((out.Max-out.Min)/(dragged.Max-dragged.Min)-2) > 0.01 {
		t.Errorf("zooming out shows %v to %v s after %v to %v", out.Min, out.Max, dragged.Min, dragged.Max)
	}
	p.Keys("\r") // the button has the focus: everything works without a mouse
	p.Wait(fmt.Sprintf(firstZoom+`.plot.scales.x.max - `+firstZoom+`.plot.scales.x.min > %v`, out.Max-out.Min+1))
	p.Click(`figure.zooming button[aria-label="Show the whole run"]`)
	if again := shown(p); math.Abs(again.Max-again.Min-(whole.Max-whole.Min)) > 0.5 {
		t.Errorf("the whole run shows %v to %v s", again.Min, again.Max)
	}
	for _, f := range p.Faults() {
		t.Errorf("zoomed: %s", f)
	}
	p.Media("screen", "dark") // draws anew with other colours
	p.Wait(`document.querySelectorAll("figure.zooming canvas").length === 1`)
	p.Click(`figure.zooming button[aria-label="Back to the picture"]`)
	p.Wait(`!document.querySelector("canvas") && document.querySelector("figure[data-track] svg").getBoundingClientRect().height > 100`)
	if got := p.Problems(); len(got) > 0 {
		t.Errorf("the browser complains: %q", got)
	}
	checkHarmless(t, p, path)
}

// The numbers of the table are those of the record, also where scripts are off.
func TestTablesMatchTheRecord(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir, r := aRun(t, nil)
	p := b.Page(t)
	p.NoScript(true)
	p.Open("file://" + write(t, dir))
	p.Wait(`document.readyState === "complete"`)
	m := r.Phase("measure")
	for _, c := range m.Classes {
		want := []string{c.Name, "response", figure.Count(c.Counts.Succeeded), figure.Rate(c.Rate),
			figure.Duration(time.Duration(*c.Response.P50)), figure.Duration(time.Duration(*c.Response.P90))}
		var rows [][]string
		p.Eval(`Array.from(document.querySelectorAll("#operations > div table tr"), tr => Array.from(tr.cells, td => td.textContent).slice(0, 6))`, &rows)
		if !strings.Contains(fmt.Sprint(rows), fmt.Sprint(want)) {
			t.Errorf("no row %q in %q", want, rows)
		}
	}
}

// The page writes numbers as the terminal does.
func TestFiguresAgree(t *testing.T) {
	t.Parallel()
	b, ok := browsertest.Shared(t)
	if !ok {
		return
	}
	dir, _ := aRun(t, nil)
	p := b.Page(t)
	p.Open("file://" + write(t, dir))
	p.Wait(firstZoom)
	const seed = 20261122
	r := rand.New(rand.NewPCG(seed, 1))
	values := []float64{0, 73.25, -73.25, 1.005, 2.5, 1234.5, 99.95, 0.12345, 100.5, 99.5, 999.5e3, 1e6, 999_499.5, 0.9996,
		0.00005, 1023.5, 1024, 600e9, 3661e9}
	for range 3000 {
		x := math.Exp(r.Float64()*60 - 15)
		if r.IntN(4) == 0 {
			x = math.Round(x*2) / 2 // ties
		}
		values = append(values, x)
	}
	list, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	p.Eval(string(list)+`.map(x => [figure.significant(x), figure.rate(x), figure.percent(x), figure.bytes(Math.trunc(x)), figure.duration(x), figure.count(Math.trunc(x))])`, &got)
	wrong := 0
	for i, x := range values {
		if x > 9e15 {
			continue // beyond the whole numbers that both languages have
		}
		want := []string{figure.Significant(x), figure.Rate(x), figure.Percent(x), figure.Bytes(int64(x)),
			figure.Duration(time.Duration(x)), figure.Count(int64(x))}
		for k := range want {
			if got[i][k] != want[k] && wrong < 10 {
				wrong++
				t.Errorf("%v (seed %d): the page writes %q, the terminal %q", x, seed, got[i][k], want[k])
			}
		}
	}
}
