package record

import "github.com/plimsoll-bench/plimsoll/measure"

// KindBacktest is the kind of result that `plimsoll size --backtest` prints as JSON, and KindWhatIf that of --what-if.
const (
	KindBacktest = "backtest"
	KindWhatIf   = "what-if"
)

// Backtest compares predictions with measurements: each level of a factor is left out and predicted from the others.
type Backtest struct {
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of result, "backtest" here.
	Kind string `json:"kind"`
	Tool Tool   `json:"tool"`
	// Factors are the factors of all studies and documents.
	Factors []BacktestFactor `json:"factors"`
	// Inner are the left-out levels between others, Outer those beyond the others, which have an upper limit only.
	Inner    BacktestCount     `json:"inner"`
	Outer    BacktestCount     `json:"outer"`
	Validity []measure.Finding `json:"validity"`
}

// BacktestCount counts left-out levels.
type BacktestCount struct {
	// Levels is how many were left out, Refused how many of them were not predicted, Held how many measured values were
	// inside of the interval of their prediction, or below their limit.
	Levels  int `json:"levels"`
	Refused int `json:"refused"`
	Held    int `json:"held"`
	// Median is that of the absolute errors of the predictions, as shares of the measured values; of levels beyond the
	// others, that of limit / measured − 1.
	Median *float64 `json:"median,omitempty"`
}

// Predicted is how many levels were not refused.
func (c BacktestCount) Predicted() int { return c.Levels - c.Refused }

// BacktestFactor is one factor of a study or of a published document.
type BacktestFactor struct {
	// Source is the directory of the study, or the published figure.
	Source string `json:"source"`
	Factor string `json:"factor"`
	// Model is the model that all levels together choose, absent if none describes them. Why says why.
	Model string `json:"model,omitempty"`
	Why   string `json:"why"`
	// Error is the root mean square of the errors of left-out levels of the model.
	Error *float64 `json:"error,omitempty"`
	// Parameters are those of the model, fitted to all levels.
	Parameters []BacktestParameter `json:"parameters,omitempty"`
	// Models are all models that apply, the best first.
	Models []BacktestModel `json:"models,omitempty"`
	// Points are the levels that were left out, in order: the largest, the inner ones, the smallest.
	Points []BacktestPoint `json:"points"`
}

// BacktestParameter is a fitted parameter of a model.
type BacktestParameter struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// BacktestModel is a model that applies to a factor.
type BacktestModel struct {
	Name    string `json:"name"`
	Formula string `json:"formula"`
	Basis   string `json:"basis"`
	// Error is the root mean square of the errors of left-out levels.
	Error float64 `json:"error"`
}

// BacktestPoint is a level that was left out.
type BacktestPoint struct {
	Level string `json:"level"`
	// Size is the number that the factor varies, 0 for a name.
	Size float64 `json:"size,omitempty"`
	// Beyond: the level is beyond the others.
	Beyond bool `json:"beyond,omitempty"`
	// N is the number of trials, Measured their geometric mean in operations per second.
	N        int     `json:"n"`
	Measured float64 `json:"measured"`
	// Model made the prediction; it is chosen without this level. Predicted has the 95 % interval of what so many trials
	// show. Beyond the others there is only the upper limit, High.
	Model     string   `json:"model,omitempty"`
	Predicted *float64 `json:"predicted,omitempty"`
	Low       *float64 `json:"predicted_low,omitempty"`
	High      *float64 `json:"predicted_high,omitempty"`
	// Error is predicted / measured − 1.
	Error *float64 `json:"error,omitempty"`
	// Held: the measured value is inside of the interval, or below the limit.
	Held bool `json:"held"`
	// Refused says why there is no prediction.
	Refused string `json:"refused,omitempty"`
}

// WhatIf is the predicted throughput of a deployment that was not measured.
type WhatIf struct {
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of result, "what-if" here.
	Kind string `json:"kind"`
	Tool Tool   `json:"tool"`
	// Asked is the question as it was written.
	Asked string `json:"asked"`
	// Throughput is the prediction in operations per second, with the 95 % interval of its mean. From the elasticity of a
	// load line, Low and High are the line's interval with no and with proportional growth instead. If a change is beyond
	// the measured levels there is only the upper limit, High. All are absent if Refused says why.
	Throughput *float64 `json:"throughput,omitempty"`
	Low        *float64 `json:"throughput_low,omitempty"`
	High       *float64 `json:"throughput_high,omitempty"`
	Refused    []string `json:"refused,omitempty"`
	// Changes are the factors that differ from the baseline, with the models that predicted them.
	Changes []WhatIfChange `json:"changes"`
	// Nearest is the measured configuration that is nearest.
	Nearest WhatIfPoint `json:"nearest"`
	// Same are the keys of the question that are as measured.
	Same     []string          `json:"same,omitempty"`
	Validity []measure.Finding `json:"validity"`
}

// WhatIfChange is one factor of the question.
type WhatIfChange struct {
	Key   string `json:"key"`
	From  string `json:"from"`
	To    string `json:"to"`
	Study string `json:"study,omitempty"`
	// Basis is "measured" or the name of the model that predicted it.
	Basis string `json:"basis,omitempty"`
	// Ratio is the throughput relative to the baseline of the study, with its interval. Beyond the measured levels there
	// is only the upper limit, High.
	Ratio *float64 `json:"ratio,omitempty"`
	Low   *float64 `json:"ratio_low,omitempty"`
	High  *float64 `json:"ratio_high,omitempty"`
	// Beyond: the value is beyond the measured ones.
	Beyond bool   `json:"beyond,omitempty"`
	Why    string `json:"why,omitempty"`
}

// WhatIfPoint is a measured configuration.
type WhatIfPoint struct {
	Study         string  `json:"study"`
	Configuration string  `json:"configuration"`
	N             int     `json:"n"`
	Throughput    float64 `json:"throughput"`
}
