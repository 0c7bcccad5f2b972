package record

// SuiteJudgement compares the parts of a suite with the document that it repeats. Package suite/judge makes it from
// their records when the suite ends, or when a running suite is read.
type SuiteJudgement struct {
	// Counts are the numbers of statements by agreement.
	Counts map[Agreement]int `json:"counts,omitzero"`
	// Statements are those of the document, in the order of the figures.
	Statements []SuiteStatement `json:"statements,omitzero"`
	// Figures are what the parts show of the document, in their order.
	Figures []SuiteFigure `json:"figures,omitempty"`
	// Headlines are the statements that say most, by their places among the statements, in the order in which they
	// are read.
	Headlines []int `json:"headlines,omitempty"`
	// Advice is what the document recommends, with what was found about it here.
	Advice []SuiteAdvice `json:"advice,omitempty"`
	// Practices are the advice that follows from the measurements alone.
	Practices []SuitePractice `json:"practices,omitempty"`
	// Losses are the losses of acknowledged writes by failures, and Used the resources of drills per write.
	Losses []SuiteLoss `json:"losses,omitempty"`
	Used   []SuiteUse  `json:"used,omitempty"`
}

// SuiteFigure is a figure, table or output of the document that parts repeat.
type SuiteFigure struct {
	// Name is how a part calls it. Sweep is its ID in package published, absent if the document has nothing by that
	// name that could be measured. Its statements are those of the sweep.
	Name  string `json:"name"`
	Sweep string `json:"sweep,omitempty"`
	// Notes are what has to be known of it beside its statements.
	Notes []SuiteNote `json:"notes,omitempty"`
}

// SuiteNote is a sentence, or, without a text, what the record of a part says: a drill found more than the document
// looked at.
type SuiteNote struct {
	Text string `json:"text,omitempty"`
	// Part is the name of a part, and Level what it is of the document.
	Part  string `json:"part,omitempty"`
	Level string `json:"level,omitempty"`
}

// Agreement compares a statement of the document with the measurement.
type Agreement string

// The words of an agreement. What is only drawn, not stated or a setting is no statement, and is not counted.
const (
	// Agrees: the measured interval is within the margin of the document's ratio, or what the words say was found.
	Agrees Agreement = "agrees"
	// Compatible: the measured interval includes the document's ratio and is too wide to confirm it.
	Compatible Agreement = "compatible"
	// SameDirection: better or worse as in the document, by another ratio.
	SameDirection Agreement = "same direction"
	// Disagrees: the other direction, or a difference on one side only.
	Disagrees Agreement = "disagrees"
	// Undecided: the measurement is too uncertain to say.
	Undecided Agreement = "undecided"
	// NotMeasured: there is no measurement; Why says why.
	NotMeasured Agreement = "not measured"
	// OnlyDrawn: the document has a picture of it and no figure.
	OnlyDrawn Agreement = "only drawn"
	// NotStated: the document states too little for a ratio.
	NotStated Agreement = "not stated"
)

// Gap is why a statement was not measured, in a word that can be counted.
type Gap string

// The words of a gap.
const (
	GapTime   Gap = "time"   // its part was left out for want of time
	GapHere   Gap = "here"   // its part needs what is not here
	GapLevels Gap = "levels" // its level was left out of a part that was done
	GapOther  Gap = "other"  // its part failed, cannot be read, or has no such metric
)

// StatementKind is what a statement is made of.
type StatementKind string

// The kinds of statements.
const (
	StatementRatio StatementKind = "ratio" // a figure, against the document's own baseline
	StatementTrend StatementKind = "trend" // words: rises, falls, steady
	StatementWords StatementKind = "words" // words about a failure
)

// SuiteStatement is one level and metric of a document, or one of its sentences, held against what was measured.
type SuiteStatement struct {
	// Sweep is the ID of the figure, table or output in package published; Part what was measured for it.
	Sweep string        `json:"sweep"`
	Part  string        `json:"part,omitempty"`
	Kind  StatementKind `json:"statement" jsonschema:"enum=ratio,enum=trend,enum=words"`
	Level string        `json:"level"`
	// Metric is that of the document, and Measure the one that was measured in its place, if it is another.
	Metric  string `json:"metric"`
	Measure string `json:"measure,omitempty"`
	// Stated is what the document has, as it is written there; Place where.
	Stated string `json:"stated,omitempty"`
	Place  string `json:"place,omitempty"`
	// Goes is where a trend goes, such as “rises”, and Words how the document says it.
	Goes  string `json:"goes,omitempty"`
	Words string `json:"words,omitempty"`
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
	// Margin is how far the whole interval may be from the document's ratio to confirm it: 0.2 is from 1/1.2 to 1.2 times
	// the ratio. Absent for bounds and words.
	Margin *float64 `json:"margin,omitempty"`
	// Found is what was found, where that is no ratio.
	Found string `json:"found,omitempty"`
	// Verdict is that of the study about the measured ratio.
	Verdict   Verdict   `json:"verdict,omitempty"`
	Agreement Agreement `json:"agreement" jsonschema:"enum=agrees,enum=compatible,enum=same direction,enum=disagrees,enum=undecided,enum=not measured,enum=only drawn,enum=not stated"`
	// Why says in a sentence what the agreement rests on.
	Why string `json:"why,omitempty"`
	// Gap is the reason in a word where it was not measured.
	Gap Gap `json:"gap,omitempty" jsonschema:"enum=time,enum=here,enum=levels,enum=other"`
	// Contradictions are those of the document that concern its figure, by their IDs; Doubts are the same in sentences.
	Contradictions []string `json:"contradictions,omitempty"`
	Doubts         []string `json:"doubts,omitempty"`
}

// Counted says whether the document states something here that can agree or not.
func (s *SuiteStatement) Counted() bool {
	return s.Agreement != OnlyDrawn && s.Agreement != NotStated
}

// AdviceWorth is what an advice of the document is worth here.
type AdviceWorth string

// The words for advice.
const (
	AdviceHolds       AdviceWorth = "holds here"
	AdviceDoesNot     AdviceWorth = "does not hold here"
	AdviceUndecided   AdviceWorth = "undecided"
	AdviceNotMeasured AdviceWorth = "not measured"
)

// SuiteAdvice is a recommendation of the document, with what the measurements here say of what it rests on.
type SuiteAdvice struct {
	Says    string   `json:"says"`
	RestsOn []string `json:"rests_on,omitempty"`
	// But is what the document's own figures do not carry.
	But   string      `json:"but,omitempty"`
	Place string      `json:"place,omitempty"`
	Found AdviceWorth `json:"found" jsonschema:"enum=holds here,enum=does not hold here,enum=undecided,enum=not measured"`
	// Why says it in a sentence.
	Why string `json:"why"`
}

// SuitePractice is advice that follows from what a part measured.
type SuitePractice struct {
	Part string `json:"part"`
	// Setting is what the advice is about: a factor, a key that a procedure chose, a failure.
	Setting string `json:"setting"`
	Advice  string `json:"advice"`
	// Levels are the levels whose difference is certain, the best one first; Rests says in a sentence what else it
	// rests on.
	Levels []SuiteLevel `json:"levels,omitempty"`
	Rests  string       `json:"rests_on,omitempty"`
}

// SuiteLevel is a level of a factor with everything that it changes for certain.
type SuiteLevel struct {
	Level string `json:"level"`
	N     int    `json:"n"`
	// Changes are against the baseline of the part, metric by metric.
	Changes []SuiteChange `json:"changes"`
}

// SuiteChange is a change of a metric, as in the [Comparison] that it is from.
type SuiteChange struct {
	Metric     string   `json:"metric"`
	Unit       string   `json:"unit"`
	Ratio      *float64 `json:"ratio,omitempty"`
	Low        *float64 `json:"ratio_low,omitempty"`
	High       *float64 `json:"ratio_high,omitempty"`
	Difference *float64 `json:"difference,omitempty"`
}

// SuiteLoss is what the failure of a drill took of what had been acknowledged.
type SuiteLoss struct {
	Part string `json:"part"`
	// Rounds are those in which something was acknowledged, and Lossy those of them in which some of that was gone. A
	// chance that a failure takes something lies between Low and High; all are absent where nobody acknowledged a
	// write.
	Rounds int     `json:"rounds,omitempty"`
	Lossy  int     `json:"rounds_with_loss,omitempty"`
	Low    float64 `json:"chance_low,omitempty"`
	High   float64 `json:"chance_high,omitempty"`
	// Most is the most that was lost in a round, and Oldest how long before the fault the oldest of it had been
	// acknowledged. After is how long after the fault the last of it was.
	Most   int64  `json:"most,omitempty"`
	Oldest *int64 `json:"oldest_ns,omitempty"`
	After  int64  `json:"after_ns,omitempty"`
	// Unanswered are the writes that nobody acknowledged, and Gone those of them that were not there afterwards.
	Unanswered int64 `json:"unanswered,omitempty"`
	Gone       int64 `json:"gone,omitempty"`
}

// SuiteUse is what the rounds of a drill used together.
type SuiteUse struct {
	Part  string `json:"part"`
	Level string `json:"level,omitempty"`
	// Base is the part that it is held against: the first one that was loaded in the same way.
	Base    string `json:"base"`
	Members int    `json:"members"`
	// Writes are those that were acknowledged.
	Writes       int64   `json:"writes"`
	ServersCPU   float64 `json:"servers_cpu_seconds"`
	ServersBytes int64   `json:"servers_written_bytes,omitempty"`
	ServiceCPU   float64 `json:"service_cpu_seconds,omitempty"`
	GeneratorCPU float64 `json:"generator_cpu_seconds,omitempty"`
}
