package published

// Claim is a figure that a document computes from its own figures.
type Claim struct {
	// Of is "change" (To relative to From in percent, negative for below), "ratio" (To divided by From), or "figure" (To
	// itself, repeated).
	Of   string `yaml:"of"`
	From string `yaml:"from"` // a path, see [Source.Value]
	To   string `yaml:"to"`
	// Times multiplies a ratio or a figure, 1 if absent: three nodes to be replaced, a thousandth for "47k".
	Times  float64 `yaml:"times"`
	Stated Value   `yaml:"stated"` // the document's result
	Wrong  string  `yaml:"wrong"`  // ID of the contradiction, if the result does not follow from the figures
	Place  `yaml:",inline"`
}
