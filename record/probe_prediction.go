package record

// ProbePrediction is what a probe and the calibration of an engine say about durable writes of that engine on the
// probed storage. It is made before the engine is started there.
type ProbePrediction struct {
	// Engine is the kind of the target of the calibration; Workload and Durability are those of its runs.
	Engine     string `json:"engine"`
	Workload   string `json:"workload"`
	Durability string `json:"durability"`
	// Writes is the share of the operations that wait for the journal, Class the class of operations whose times are
	// predicted.
	Writes float64 `json:"writes"`
	Class  string  `json:"class"`
	// Cores are shared by load and engine.
	Cores int `json:"cores"`
	// Calibrations are what the operations need without the storage.
	Calibrations []ProbeCalibration `json:"calibrations"`
	// Points are the predictions, by the number of workers.
	Points []ProbePredicted `json:"points"`
	// Refused says why there is no prediction.
	Refused string `json:"refused,omitempty"`
	// RateError and P99Error are the medians of the absolute errors of the points that were measured too.
	RateError *float64 `json:"median_rate_error,omitempty"`
	P99Error  *float64 `json:"median_p99_error,omitempty"`
	// LeftOut are the runs that were not compared, and why.
	LeftOut []string `json:"left_out,omitempty"`
}

// ProbeCalibration is one run of the engine on storage that costs nothing.
type ProbeCalibration struct {
	Record  string `json:"record"`
	Workers int    `json:"workers"`
	// Rate is in operations per second, Service their mean time, CPU the processor time of load and engine for each, in
	// nanoseconds.
	Rate    float64 `json:"rate"`
	Service float64 `json:"service_ns"`
	CPU     float64 `json:"cpu_ns"`
	// Demand is the time that an operation occupies a core, in nanoseconds, by its throughput.
	Demand float64 `json:"demand_ns"`
}

// ProbePredicted is the prediction for a number of workers.
type ProbePredicted struct {
	Workers int `json:"workers"`
	// Rate is in operations per second; Mean, P50 and P99 are of a durable write, in nanoseconds.
	Rate float64 `json:"rate"`
	Mean float64 `json:"mean_ns"`
	P50  int64   `json:"p50_ns"`
	P99  int64   `json:"p99_ns"`
	// Journal and CPU are the shares of the time in which the journal syncs and the cores are busy, Batch the mean number
	// of commits of a sync.
	Journal float64 `json:"journal"`
	CPU     float64 `json:"cpu"`
	Batch   float64 `json:"batch"`
	// Measured is what runs of the engine showed later.
	Measured *PredictedMeasured `json:"measured,omitempty"`
}

// PredictedMeasured are the runs with the number of workers of a prediction.
type PredictedMeasured struct {
	Records []string `json:"records"`
	// Rate is the geometric mean of the runs, P99 that of all their writes together.
	Rate float64 `json:"rate"`
	Mean float64 `json:"mean_ns"`
	P99  int64   `json:"p99_ns"`
	// RateError and P99Error are predicted / measured − 1.
	RateError float64 `json:"rate_error"`
	P99Error  float64 `json:"p99_error"`
}
