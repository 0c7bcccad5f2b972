package stats

// Alternations finds the blocks of trials that alternate between two sides. second says, in order of time, whether a
// trial is of the second side. A block is four neighbours, two of each side, that change sides between the first two
// and the last two trials. Blocks do not overlap, and are taken from the beginning. weights are those of the logarithms
// of all trials: the sum over a block is the logarithm of the ratio of its sides, and 0 outside of blocks. A drift that
// is linear in the order of the four trials cancels out:
//
//	A B B A  −1/2  +1/2  +1/2  −1/2
//	A B A B  −1/4  +3/4  −3/4  +1/4
//
// Those of the second line have the smallest sum of squares among all weights of A B A B with that property. Trials
// that ran side after side have no block. block is the number of the block of each trial, from 1, and 0 outside.
func Alternations(second []bool) (block []int, weights []float64) {
	block, weights = make([]int, len(second)), make([]float64, len(second))
	for i, n := 0, 1; i+4 <= len(second); {
		a, b, c, d := second[i], second[i+1], second[i+2], second[i+3]
		if a == b || c == d {
			i++
			continue
		}
		form := [4]float64{-0.5, 0.5, 0.5, -0.5}
		if a == c {
			form = [4]float64{-0.25, 0.75, -0.75, 0.25}
		}
		for k, w := range form {
			if block[i+k], weights[i+k] = n, w; a { // it began with the second side
				weights[i+k] = -w
			}
		}
		n, i = n+1, i+4
	}
	return block, weights
}
