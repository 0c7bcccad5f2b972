package record

// How a main effect was estimated.
const (
	// EffectMatched: from the pairs of configurations that differ in nothing but this level, within blocks.
	EffectMatched = "matched"
	// EffectAdditive: as a coefficient of an additive model of logarithms, within blocks. Interactions are not in it.
	EffectAdditive = "additive"
)

// Effect is the main effect of a level of a factor in a grid or a fraction of one: what it changes against the level of
// the baseline, on average over the levels of the other factors.
type Effect struct {
	Factor string `json:"factor"`
	Level  string `json:"level"`
	// Reference is the level of the baseline.
	Reference string `json:"reference"`
	Method    string `json:"method" jsonschema:"enum=matched,enum=additive"`
	// Pairs is how many pairs of configurations differ in nothing but this level, 0 of an additive model. Least and Most
	// are the smallest and the largest ratio of one of them: far apart, the effect depends on the other factors.
	Pairs int      `json:"configuration_pairs"`
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`
	// Comparison is the effect: its n and pairs count blocks, and its ratio is the mean over them. It has no values.
	Comparison `json:"comparison"`
}
