package published

// Claim is a figure that a document computes from its own figures.
type Claim struct {
	// Of is "change" (how many percent To is above From, negative for below), "ratio" (To divided by From), or "figure"
	// (To itself, repeated).
	Of string `yaml:"of"`
	// From and To are paths of figures, see [Source.Value].
	From string `yaml:"from"`
	To   string `yaml:"to"`
	// Times multiplies a ratio or a figure, 1 if absent: three nodes to be replaced, a thousandth for "47k".
	Times  float64 `yaml:"times"`
	Stated Value   `yaml:"stated"` // the document's result
	Wrong  string  `yaml:"wrong"`  // ID of the contradiction, if the result does not follow from the figures
	Place  `yaml:",inline"`
}
