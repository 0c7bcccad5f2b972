package record

// SuiteReport is what `plimsoll report` says of a suite as JSON: the record, and each statement of the document held
// against what was measured here.
type SuiteReport struct {
	Suite
	// Counts are the statements by what became of them.
	Counts map[Agreement]int `json:"counts"`
	// Statements are those of the document, in the order of what the parts show.
	Statements []SuiteStatement `json:"statements"`
	// Advice is what the document recommends, with what was found about it here.
	Advice []SuiteAdvice `json:"advice,omitempty"`
}

// Agreement is how a statement of the document stands to what was measured.
type Agreement string

// The words of an agreement. What is only drawn, not stated or a setting is no statement, and is not counted.
const (
	// Agrees: the document's ratio lies in the measured interval, both differ from 1 by less than the margin, or what the
	// words say was found.
	Agrees Agreement = "agrees"
	// SameDirection: better or worse as in the document, by another ratio.
	SameDirection Agreement = "same direction"
	// Disagrees: the other direction, or a difference on one side only.
	Disagrees Agreement = "disagrees"
	// NotTold: the measurement is too uncertain to say.
	NotTold Agreement = "not told"
	// NotMeasured: there is no measurement; Why says why.
	NotMeasured Agreement = "not measured"
	// OnlyDrawn: the document has a picture of it and no figure.
	OnlyDrawn Agreement = "only drawn"
	// NotStated: the document states too little for a ratio.
	NotStated Agreement = "not stated"
)

// What a statement is made of.
const (
	StatementRatio = "ratio" // a figure, against the document's own baseline
	StatementTrend = "trend" // words: rises, falls, steady
	StatementWords = "words" // words about a failure
)

// SuiteStatement is one level and metric of a document, or one of its sentences, held against what was measured.
type SuiteStatement struct {
	// Sweep is the ID of the figure, table or output in package published; Part what was measured for it.
	Sweep string `json:"sweep"`
	Part  string `json:"part,omitempty"`
	Kind  string `json:"statement" jsonschema:"enum=ratio,enum=trend,enum=words"`
	Level string `json:"level"`
	// Metric is that of the document, and Measure the one that was measured in its place, if it is another.
	Metric  string `json:"metric"`
	Measure string `json:"measure,omitempty"`
	// Stated is what the document has, as it is written there; Place where.
	Stated string `json:"stated,omitempty"`
	Place  string `json:"place,omitempty"`
	// Published is the ratio to the document's own baseline; Bound is "about", "below", "above" or "up to".
	Published *float64 `json:"published_ratio,omitempty"`
	Bound     string   `json:"bound,omitempty"`
	// Baseline is the level that both ratios are against.
	Baseline string `json:"baseline,omitempty"`
	// Ratio is the measured one, with its interval. N is how many trials or rounds it rests on.
	Ratio *float64 `json:"ratio,omitempty"`
	Low   *float64 `json:"ratio_low,omitempty"`
	High  *float64 `json:"ratio_high,omitempty"`
	N     int      `json:"n,omitempty"`
	// Found is what was found, where that is no ratio.
	Found string `json:"found,omitempty"`
	// Verdict is that of the study about the measured ratio.
	Verdict   Verdict   `json:"verdict,omitempty"`
	Agreement Agreement `json:"agreement" jsonschema:"enum=agrees,enum=same direction,enum=disagrees,enum=not told,enum=not measured,enum=only drawn,enum=not stated"`
	// Why says in a sentence what the agreement rests on.
	Why string `json:"why,omitempty"`
	// Contradictions are those of the document that concern its figure, by their IDs; Doubts are the same in sentences.
	Contradictions []string `json:"contradictions,omitempty"`
	Doubts         []string `json:"doubts,omitempty"`
}

// Counted says whether the document states something here that can agree or not.
func (s *SuiteStatement) Counted() bool {
	return s.Agreement != OnlyDrawn && s.Agreement != NotStated
}

// The words for advice.
const (
	AdviceHolds       = "holds here"
	AdviceDoesNot     = "does not hold here"
	AdviceNotTold     = "not told"
	AdviceNotMeasured = "not measured"
)

// SuiteAdvice is a recommendation of the document, with what the measurements here say of what it rests on.
type SuiteAdvice struct {
	Says    string   `json:"says"`
	RestsOn []string `json:"rests_on,omitempty"`
	// But is what the document's own figures do not carry.
	But   string `json:"but,omitempty"`
	Place string `json:"place,omitempty"`
	Found string `json:"found" jsonschema:"enum=holds here,enum=does not hold here,enum=not told,enum=not measured"`
	// Why says it in a sentence.
	Why string `json:"why"`
}
