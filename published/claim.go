package published

// Claim is something that a document computes out of its own figures.
type Claim struct {
	// Of is "change" (how many percent To is above From, negative for below), "ratio" (To divided by From), or "figure"
	// (To itself, told once more).
	Of string `yaml:"of"`
	// From and To are paths of figures, see [Source.Value].
	From string `yaml:"from"`
	To   string `yaml:"to"`
	// Times multiplies a ratio or a figure, 1 if absent: the three nodes that are to be replaced, a thousandth for "47k".
	Times float64 `yaml:"times"`
	// Stated is the document's result.
	Stated Value `yaml:"stated"`
	// Wrong is the ID of the contradiction, if the result does not follow from the figures.
	Wrong string `yaml:"wrong"`
	Place `yaml:",inline"`
}
