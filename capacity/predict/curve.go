package predict

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Curve has the predictions of one factor along its sizes, relative to the baseline of its study.
type Curve struct {
	Factor, Model string
	Now           float64 // the size of the baseline
	// NowText, From and To are sizes for people: that of the baseline, the smallest and the largest of the curve.
	NowText, From, To string
	At                []float64
	Ratio, Low, Up    []float64
}

// Curve predicts a factor between its smallest and its largest measured level. ok is false if nothing between them can
// be predicted, or if the levels are no numbers.
func (s *Study) Curve(f *spec.Factor) (c Curve, ok bool) {
	factors, err := Factors(s.Dir, s.Study)
	if err != nil || f.Path == "" {
		return c, false
	}
	i := slices.IndexFunc(factors, func(x Factor) bool { return x.Name == f.Title() })
	if i < 0 || factors[i].Levels[0].Size == 0 {
		return c, false
	}
	levels := factors[i].Levels
	choice, err := Choose(levels)
	base, baseErr := s.level(s.baseline(), nil)
	if err != nil || baseErr != nil || len(base.Throughput) == 0 {
		return c, false
	}
	c = Curve{Factor: f.Title(), Model: choice.Name, Now: sizeOf(s.value(s.baseline(), f.Path))}
	first, last := levels[0].Size, levels[len(levels)-1].Size
	whole := !slices.ContainsFunc(levels, func(l Level) bool { return l.Size != math.Trunc(l.Size) })
	m := stats.Middle(base.Throughput)
	for _, x := range logarithmic(first, last, 49) {
		x = max(first, min(x, last)) // rounded
		if whole {
			x = math.Round(x)
		}
		if x < 1e-9 || len(c.At) > 0 && x <= c.At[len(c.At)-1] {
			continue
		}
		l, err := s.level(s.baseline(), map[string]any{f.Path: x})
		if err != nil {
			continue
		}
		l.Size = x
		p, err := choice.Predict(&l, 0)
		if err != nil {
			continue
		}
		c.At, c.Ratio = append(c.At, x), append(c.Ratio, p.Throughput/m)
		c.Low, c.Up = append(c.Low, p.Low/m), append(c.Up, p.High/m)
	}
	if len(c.At) < 2 || c.Now == 0 {
		return c, false
	}
	write := func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	if whole {
		write = func(x float64) string { return figure.Count(int64(x)) }
	}
	if strings.HasSuffix(levels[0].Name, "B") {
		write = func(x float64) string { return figure.Bytes(int64(x)) }
	}
	c.NowText, c.From, c.To = write(c.Now), write(c.At[0]), write(c.At[len(c.At)-1])
	return c, true
}
