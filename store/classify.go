package store

import (
	"slices"
	"strconv"
	"strings"
)

// This file alone decides the outcome of an operation from an error of a MongoDB server. store/wire and store/mongo use
// it, so the same reply has the same outcome in both.
//
// The rule for writes: unless the reply proves that nothing was changed, the outcome is [Indeterminate]. A wrong
// not-applied would later look like a phantom, a wrong ok like a loss.

// ServerError is an error document of a server: a refused command, one entry of writeErrors, or a writeConcernError.
type ServerError struct {
	Code     int32
	CodeName string // the server's name for Code, may be empty
	Message  string
	Labels   []string // errorLabels of the reply
	Index    int      // statement of the batch (writeErrors only)
}

func (e *ServerError) Error() string {
	return "server error " + strconv.Itoa(int(e.Code)) + " (" + e.Name() + "): " + OneLine(e.Message)
}

// Name is the server's name for the error, or [CodeName] if the reply has none.
func (e *ServerError) Name() string {
	if e.CodeName != "" {
		return OneLine(e.CodeName)
	}
	return CodeName(e.Code)
}

// The error labels of servers that decide an outcome.
const (
	labelOverloaded = "SystemOverloadedError"
	labelNoWrites   = "NoWritesPerformed"
	labelTransient  = "TransientTransactionError"
	labelUnknown    = "UnknownTransactionCommitResult"
)

// meaning of a code for a write.
type meaning uint8

const (
	unproven   meaning = iota // may or may not have been applied
	refused                   // the request itself was refused: nothing changed
	notPrimary                // refused by a server that is not the primary: nothing changed
	undone                    // the statement was rolled back inside the server: nothing changed
	duplicate                 // a unique key existed: nothing changed
	overloaded                // refused to protect the server: nothing changed
	tooLate                   // the server's time limit passed: may have been applied
)

type codeInfo struct {
	code    int32
	name    string
	meaning meaning
}

// serverCodes has the codes of the server's error_codes.yml that a load generator meets. Other codes are unproven.
var serverCodes = [...]codeInfo{
	{1, "InternalError", unproven},
	{2, "BadValue", refused},
	{6, "HostUnreachable", unproven},
	{7, "HostNotFound", unproven},
	{9, "FailedToParse", refused},
	{11, "UserNotFound", refused},
	{13, "Unauthorized", refused},
	{14, "TypeMismatch", refused},
	{16, "InvalidLength", refused},
	{17, "ProtocolError", refused},
	{18, "AuthenticationFailed", refused},
	{20, "IllegalOperation", refused},
	{22, "InvalidBSON", refused},
	{26, "NamespaceNotFound", refused},
	{27, "IndexNotFound", refused},
	{28, "PathNotViable", refused},
	{40, "ConflictingUpdateOperators", refused},
	{43, "CursorNotFound", unproven},
	{48, "NamespaceExists", refused},
	{50, "MaxTimeMSExpired", tooLate},
	{52, "DollarPrefixedFieldName", refused},
	{53, "InvalidIdField", refused},
	{54, "NotSingleValueField", refused},
	{56, "EmptyFieldName", refused},
	{57, "DottedFieldName", refused},
	{59, "CommandNotFound", refused},
	{64, "WriteConcernTimeout", unproven},
	{66, "ImmutableField", refused},
	{67, "CannotCreateIndex", refused},
	{72, "InvalidOptions", refused},
	{73, "InvalidNamespace", refused},
	{79, "UnknownReplWriteConcern", unproven},
	{85, "IndexOptionsConflict", refused},
	{86, "IndexKeySpecsConflict", refused},
	{89, "NetworkTimeout", unproven},
	{91, "ShutdownInProgress", unproven},
	{96, "OperationFailed", unproven},
	{100, "UnsatisfiableWriteConcern", unproven},
	{112, "WriteConflict", undone},
	{115, "CommandNotSupported", refused},
	{121, "DocumentValidationFailure", refused},
	{133, "FailedToSatisfyReadPreference", unproven},
	{134, "ReadConcernMajorityNotAvailableYet", unproven},
	{166, "CommandNotSupportedOnView", refused},
	{189, "PrimarySteppedDown", unproven},
	{202, "NetworkInterfaceExceededTimeLimit", unproven},
	{238, "NotImplemented", refused},
	{262, "ExceededTimeLimit", tooLate},
	{334, "MechanismUnavailable", refused},
	{365, "TemporarilyUnavailable", undone},
	{371, "UserWritesBlocked", refused},
	{391, "ReauthenticationRequired", refused},
	{462, "IngressRequestRateLimitExceeded", overloaded},
	{8000, "AtlasError", refused},
	{9001, "SocketException", unproven},
	{10058, "LegacyNotPrimary", notPrimary},
	{10107, "NotWritablePrimary", notPrimary},
	{10334, "BSONObjectTooLarge", refused},
	{11000, "DuplicateKey", duplicate},
	{11001, "DuplicateKey", duplicate},
	{11600, "InterruptedAtShutdown", unproven},
	{11601, "Interrupted", unproven},
	{11602, "InterruptedDueToReplStateChange", unproven},
	{12582, "DuplicateKey", duplicate},
	{13435, "NotPrimaryNoSecondaryOk", notPrimary},
	{13436, "NotPrimaryOrSecondary", notPrimary},
	{14031, "OutOfDiskSpace", unproven},
	{40324, "UnrecognizedPipelineStage", refused},
	{40414, "MissingField", refused},
	{40415, "UnknownField", refused},
}

func lookupCode(code int32) codeInfo {
	for _, c := range serverCodes {
		if c.code == code {
			return c
		}
	}
	return codeInfo{code: code}
}

// CodeName returns the server's name for an error code, "" for an unknown code.
func CodeName(code int32) string { return lookupCode(code).name }

// ChangesPrimary reports whether an error code says that the server is not the primary or soon will not be. A client
// must find the new primary before its next attempt.
func ChangesPrimary(code int32) bool {
	switch code {
	case 10107, 13435, 13436, 10058, 189, 11600, 11602, 91:
		return true
	}
	return false
}

// ClassifyServerError returns the outcome of a refused command (ok: 0). write is true for a command that changes
// documents.
func ClassifyServerError(write bool, code int32, codeName string, labels []string, msg string) (Outcome, Reason) {
	m := lookupCode(code).meaning
	switch {
	case slices.Contains(labels, labelOverloaded):
		m = overloaded
	case code == 1 && provesNothingSent(msg):
		m = notPrimary
	}
	switch m {
	case overloaded:
		return Overloaded, Server
	case duplicate:
		return Conflict, Server
	case refused:
		return Rejected, Server
	}
	why := Server
	if m == tooLate {
		why = Timeout
	}
	switch {
	case !write:
		return Failed, why
	case m == notPrimary, m == undone, slices.Contains(labels, labelNoWrites):
		return NotApplied, why
	}
	return Indeterminate, why
}

// provesNothingSent recognises the messages of a gateway over PostgreSQL that rule out that the statement was executed:
// the PostgreSQL server is a read-only standby, or the gateway could not reach it. The gateway reports every failure of
// the database as code 1.
func provesNothingSent(msg string) bool {
	return strings.Contains(msg, "read-only transaction") ||
		strings.Contains(msg, "SQLSTATE 25006") ||
		strings.Contains(msg, "failed to connect") ||
		strings.Contains(msg, "connection refused")
}

// ClassifyWriteError returns the outcome of a statement from its entry in writeErrors.
func ClassifyWriteError(code int32, msg string) (Outcome, Reason) {
	return ClassifyServerError(true, code, "", nil, msg)
}

// SetServerError fills r for a refused command.
func (r *Result) SetServerError(write bool, e *ServerError) {
	r.Outcome, r.Reason = ClassifyServerError(write, e.Code, e.CodeName, e.Labels, e.Message)
	r.describe(e)
}

func (r *Result) describe(e *ServerError) {
	r.Code, r.CodeName, r.Labels, r.Message = e.Code, e.Name(), e.Labels, OneLine(e.Message)
}

// SetWriteErrors fills r for a write command with refused statements (errs), an unsatisfied write concern (concern), or
// both. applied is the number of documents that were inserted or matched.
//
//   - the error of a statement proves nothing → [Indeterminate]
//   - no document applied → the outcome of the first error ([Conflict] for an existing unique key; an ordered batch
//     ends at its first error, so nothing was changed)
//   - documents applied and not confirmed → [Indeterminate] with reason [WriteConcern]: they exist on a primary and may
//     be rolled back
//   - documents applied → [Partial]
func (r *Result) SetWriteErrors(applied int, errs []ServerError, concern *ServerError) {
	r.Docs = applied
	for i := range errs {
		o, why := ClassifyWriteError(errs[i].Code, errs[i].Message)
		if o == Indeterminate {
			r.Outcome, r.Reason = o, why
			r.describe(&errs[i])
			return
		}
	}
	if concern != nil && (applied > 0 || len(errs) == 0) {
		r.Outcome, r.Reason = Indeterminate, WriteConcern
		r.describe(concern)
		return
	}
	if len(errs) == 0 {
		return
	}
	r.Outcome, r.Reason = ClassifyWriteError(errs[0].Code, errs[0].Message)
	if applied > 0 {
		r.Outcome, r.Reason = Partial, Server
	}
	r.describe(&errs[0])
}

// SetMatched fills r for an update command that was acknowledged without errors. matched includes upserted documents.
// Statements that matched nothing are [NotFound], or [Partial] if others did match, unless the request may be empty.
func (r *Result) SetMatched(statements, matched int, mayBeEmpty bool) {
	r.Docs = matched
	switch {
	case matched >= statements || mayBeEmpty:
		r.Outcome = OK
	case matched == 0:
		r.Outcome = NotFound
	default:
		r.Outcome = Partial
		r.Message = "only " + strconv.Itoa(matched) + " of " + strconv.Itoa(statements) + " updates matched a document"
	}
}

// TransientTransaction reports whether drivers repeat a transaction from its first command after this result of one of
// its commands, or of its commit. A command before the commit that lost its server is transient, too.
func (r *Result) TransientTransaction(commit bool) bool {
	if slices.Contains(r.Labels, labelTransient) {
		return true
	}
	return !commit && (r.Reason == Network || r.Reason == Selection)
}

// UnknownCommit reports whether drivers repeat a commit after this result: the server says that the result is unknown,
// or its answer is missing, or it is not the primary. Write concerns that cannot be satisfied, and time limits of the
// server, are not repeated.
func (r *Result) UnknownCommit() bool {
	switch r.Code {
	case 50, 79, 100: // MaxTimeMSExpired, UnknownReplWriteConcern, UnsatisfiableWriteConcern
		return false
	}
	return slices.Contains(r.Labels, labelUnknown) || r.Outcome == Indeterminate && r.Reason != Timeout ||
		ChangesPrimary(r.Code) || r.Reason == Selection
}
