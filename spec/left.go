package spec

// Left is one step by which a suite is smaller than its specification, or than the document.
type Left struct {
	// Part is empty where it is about all of them.
	Part string `json:"part,omitempty" yaml:"part,omitempty"`
	// What was changed: a key such as trials or workload.records, or a level, or the part itself.
	What string `json:"what" yaml:"what"`
	// From and To are as a person writes them; To is empty for what was left out.
	From string `json:"from,omitempty" yaml:"from,omitempty"`
	To   string `json:"to,omitempty" yaml:"to,omitempty"`
	// Why is a sentence.
	Why string `json:"why" yaml:"why"`
	// Late says that it was left out while the suite was under way, because that ran late; the rest was known before it
	// began.
	Late bool `json:"late,omitempty" yaml:"late,omitempty"`
}

// LeftPart is what was left out ([Left.What]) where that is a whole part.
const LeftPart = "the part"
