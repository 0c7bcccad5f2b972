package study

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// The streams of random numbers of one seed.
const (
	forOrder    = 0x6f72646572
	forFraction = 0x66726163
)

// fraction chooses n combinations of the grid: every level of each factor equally often if possible, every pair of
// levels of two factors as equally often as a search finds, and no combination twice. The baseline comes first. The
// same seed chooses the same ones.
//
// It is a search for a nearly orthogonal array: columns that are balanced from the beginning, in which two rows
// exchange their levels as long as that evens out the pairs. The measure is the sum of the squares of how often each
// pair of levels occurs, which is smallest where all occur equally often (the J2 criterion).
func fraction(factors []factor, base point, n int, seed uint64) ([]point, error) {
	size := gridSize(factors)
	switch {
	case float64(n) > size:
		return nil, fmt.Errorf("fraction: %d of the %s configurations of the grid cannot be chosen; say combine: grid for all of them", n, large(size))
	case float64(n) == size:
		return grid(factors, base)
	}
	levels := make([]int, len(factors))
	for i, f := range factors {
		levels[i] = len(f.levels)
		if n < levels[i] {
			return nil, fmt.Errorf("fraction: factor %q has %d levels, so fewer than %d configurations leave some of them out", f.Name, levels[i], levels[i])
		}
	}
	rng := rand.New(rand.NewPCG(seed, forFraction))
	var best *array
	for range restarts(n, len(levels)) {
		a := newArray(levels, base, n, rng)
		a.improve(rng)
		a.separate()
		if best == nil || a.cost() < best.cost() {
			best = a
		}
	}
	best.replaceTwins(size, rng)
	return best.rows, nil
}

// restarts is the number of random beginnings: many for small designs, which can be perfectly balanced, few for large
// ones, which are nearly balanced by chance.
func restarts(n, factors int) int {
	return max(1, min(50, 200_000/(n*n*factors)))
}

// array is a design under improvement. Row 0 is the baseline and stays.
type array struct {
	levels []int
	rows   []point
	pairs  [][][]int // for factors i < j: how often each pair of levels occurs
}

func newArray(levels []int, base point, n int, rng *rand.Rand) *array {
	a := &array{levels: levels, rows: make([]point, n)}
	for r := range a.rows {
		a.rows[r] = make(point, len(levels))
	}
	for f, k := range levels {
		// The levels that occur once more than others are drawn as well; the baseline is always there.
		order := rng.Perm(k)
		column := make([]int, n)
		for r := range column {
			column[r] = order[r%k]
		}
		at := slices.Index(column, base[f])
		column[0], column[at] = column[at], column[0]
		rest := column[1:]
		rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		for r, l := range column {
			a.rows[r][f] = l
		}
	}
	a.count()
	return a
}

func (a *array) count() {
	a.pairs = make([][][]int, len(a.levels))
	for i := range a.levels {
		a.pairs[i] = make([][]int, len(a.levels))
		for j := i + 1; j < len(a.levels); j++ {
			a.pairs[i][j] = make([]int, a.levels[i]*a.levels[j])
			for _, row := range a.rows {
				*a.pair(i, j, row[i], row[j])++
			}
		}
	}
}

// pair returns the number of rows with level x of factor i and level y of factor j.
func (a *array) pair(i, j, x, y int) *int {
	if i > j {
		i, j, x, y = j, i, y, x
	}
	return &a.pairs[i][j][x*a.levels[j]+y]
}

// cost is the sum of the squares of all pair counts, and more than that for every repeated row.
func (a *array) cost() int {
	cost := 0
	for i := range a.pairs {
		for _, counts := range a.pairs[i] {
			for _, n := range counts {
				cost += n * n
			}
		}
	}
	return cost + a.twins()*len(a.rows)*len(a.rows)
}

// twins returns the number of repeated rows.
func (a *array) twins() int {
	seen, n := map[string]bool{}, 0
	for _, row := range a.rows {
		if k := row.key(); seen[k] {
			n++
		} else {
			seen[k] = true
		}
	}
	return n
}

// key identifies a point in a map.
func (p point) key() string { return fmt.Sprint([]int(p)) }

// mostWork bounds the pairs of factors that are visited while a design is improved: half a second.
const mostWork = 10_000_000

// improve exchanges levels between rows as long as the balance improves. Large designs get random exchanges.
func (a *array) improve(rng *rand.Rand) {
	n, f := len(a.rows), len(a.levels)
	round := n * n / 2 * f * f
	if round > mostWork/4 {
		for range mostWork / f {
			a.try(rng.IntN(f), 1+rng.IntN(n-1), 1+rng.IntN(n-1))
		}
		return
	}
	for range min(100, mostWork/max(round, 1)) {
		if !a.round() {
			return
		}
	}
}

// round tries every exchange once, and reports whether one of them was better.
func (a *array) round() bool {
	better := false
	for f := range a.levels {
		for r := 1; r < len(a.rows); r++ {
			for s := r + 1; s < len(a.rows); s++ {
				better = a.try(f, r, s) || better
			}
		}
	}
	return better
}

// try exchanges the levels of factor f between two rows if that is better, and reports whether it was.
func (a *array) try(f, r, s int) bool {
	if a.rows[r][f] == a.rows[s][f] || a.gain(f, r, s) >= 0 {
		return false
	}
	a.exchange(f, r, s)
	return true
}

// gain returns the change of the sum of squares if rows r and s exchange their levels of factor f.
func (a *array) gain(f, r, s int) int {
	x, y := a.rows[r][f], a.rows[s][f]
	gain := 0
	for g := range a.levels {
		u, v := a.rows[r][g], a.rows[s][g]
		if g == f || u == v {
			continue
		}
		// (x,u) and (y,v) lose one each, (y,u) and (x,v) win one each; n² → (n±1)² is 1 ± 2n.
		gain += 4 - 2**a.pair(f, g, x, u) - 2**a.pair(f, g, y, v) + 2**a.pair(f, g, y, u) + 2**a.pair(f, g, x, v)
	}
	return gain
}

func (a *array) exchange(f, r, s int) {
	x, y := a.rows[r][f], a.rows[s][f]
	for g := range a.levels {
		if g == f {
			continue
		}
		u, v := a.rows[r][g], a.rows[s][g]
		*a.pair(f, g, x, u)--
		*a.pair(f, g, y, v)--
		*a.pair(f, g, y, u)++
		*a.pair(f, g, x, v)++
	}
	a.rows[r][f], a.rows[s][f] = y, x
}

// separate changes repeated rows by exchanges, which keep the levels balanced. Of those after which neither row is
// repeated, it takes the one that disturbs the pairs least.
func (a *array) separate() {
	rows := map[string]int{}
	for _, row := range a.rows {
		rows[row.key()]++
	}
	for r := 1; r < len(a.rows); r++ {
		if rows[a.rows[r].key()] < 2 {
			continue
		}
		f, s, ok := a.parting(r, rows)
		if !ok {
			continue
		}
		for _, row := range []int{r, s} {
			rows[a.rows[row].key()]--
		}
		a.exchange(f, r, s)
		for _, row := range []int{r, s} {
			rows[a.rows[row].key()]++
		}
	}
}

// parting finds the exchange for a repeated row, given the number of times of each row.
func (a *array) parting(r int, rows map[string]int) (factor, other int, ok bool) {
	best := 0
	for f := range a.levels {
		for s := 1; s < len(a.rows); s++ {
			if s == r || a.rows[r][f] == a.rows[s][f] {
				continue
			}
			p, q := slices.Clone(a.rows[r]), slices.Clone(a.rows[s])
			p[f], q[f] = q[f], p[f]
			if rows[p.key()] > 0 || rows[q.key()] > 0 {
				continue
			}
			if gain := a.gain(f, r, s); !ok || gain < best {
				factor, other, best, ok = f, s, gain, true
			}
		}
	}
	return factor, other, ok
}

// replaceTwins replaces repeated rows by the unused combination that disturbs the balance least. There is one, because
// there are fewer rows than combinations.
func (a *array) replaceTwins(size float64, rng *rand.Rand) {
	seen := map[string]bool{a.rows[0].key(): true}
	for r := 1; r < len(a.rows); r++ {
		if k := a.rows[r].key(); !seen[k] {
			seen[k] = true
			continue
		}
		a.rows[r] = a.stranger(size, r, rng)
		seen[a.rows[r].key()] = true
		a.count()
	}
}

// stranger finds an unused combination near to row r, by random changes of one factor, then two, and so on.
func (a *array) stranger(size float64, r int, rng *rand.Rand) point {
	taken := map[string]bool{}
	for _, row := range a.rows {
		taken[row.key()] = true
	}
	var best point
	bestCost := 0
	old := a.rows[r]
	for try := 0; best == nil || try < 200; try++ {
		p := slices.Clone(old)
		for range 1 + try/(50*len(a.levels))%len(a.levels) {
			f := rng.IntN(len(a.levels))
			p[f] = rng.IntN(a.levels[f])
		}
		if taken[p.key()] {
			continue
		}
		if cost := a.imbalance(r, p); best == nil || cost < bestCost {
			best, bestCost = p, cost
		}
	}
	return best
}

// imbalance returns the sum of the squares of the level counts if row r were p.
func (a *array) imbalance(r int, p point) int {
	cost := 0
	for f, k := range a.levels {
		n := make([]int, k)
		for i, row := range a.rows {
			if i != r {
				n[row[f]]++
			}
		}
		n[p[f]]++
		for _, x := range n {
			cost += x * x
		}
	}
	return cost
}
