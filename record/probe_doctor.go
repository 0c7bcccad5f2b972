package record

// KindDoctor is the kind of result that `plimsoll doctor` prints as JSON.
const KindDoctor = "doctor"

// The severities of what the doctor finds.
const (
	// DoctorCritical puts data at risk, or the server cannot work properly.
	DoctorCritical = "critical"
	// DoctorWarning costs performance or stability.
	DoctorWarning = "warning"
	// DoctorAdvice would be better otherwise.
	DoctorAdvice = "advice"
	// DoctorGood is as recommended.
	DoctorGood = "good"
	// DoctorUnknown could not be found out.
	DoctorUnknown = "unknown"
)

// Doctor is how a host and a server stand against what MongoDB recommends.
type Doctor struct {
	SchemaVersion string `json:"schema_version"`
	// Kind is the kind of result, "doctor" here.
	Kind string `json:"kind"`
	Tool Tool   `json:"tool"`
	// Directory is what was looked at, URI the server, without credentials.
	Directory string `json:"directory,omitempty"`
	URI       string `json:"uri,omitempty"`
	// Probe is the record of a probe that effects were taken from.
	Probe string `json:"probe,omitempty"`
	// Findings have the gravest first.
	Findings []DoctorFinding `json:"findings"`
	// Worst is the gravest severity.
	Worst string `json:"worst" jsonschema:"enum=critical,enum=warning,enum=advice,enum=good,enum=unknown"`
}

// DoctorFinding is one thing that was looked at.
type DoctorFinding struct {
	// ID is its name in the documentation, Area where it belongs: "storage", "system", "server".
	ID       string `json:"id"`
	Area     string `json:"area"`
	Severity string `json:"severity" jsonschema:"enum=critical,enum=warning,enum=advice,enum=good,enum=unknown"`
	// Is and Recommended are what is and what should be.
	Is          string `json:"is"`
	Recommended string `json:"recommended,omitempty"`
	// Why is the reason in one sentence, How how to change it.
	Why string `json:"why,omitempty"`
	How string `json:"how,omitempty"`
	// Effect is what a probe measured about it.
	Effect string `json:"effect,omitempty"`
}
