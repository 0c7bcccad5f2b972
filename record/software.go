package record

import "strings"

// The software of targets that is not MongoDB, besides the kinds of package server.
const (
	SoftwareEmbedded = "embedded"
	SoftwareNull     = "null"
	SoftwareStandIn  = "stand-in"
	SoftwareFerretDB = "ferretdb"
	SoftwareREST     = "REST service"
)

// Software is what the target is. Its address and its build decide before its kind: a responder on loopback and a
// stand-in for tests answer that they are a mongod.
func (t Target) Software() string {
	build := t.Settings["gitVersion"]
	switch scheme, _, _ := strings.Cut(t.Address, ":"); {
	case scheme == SoftwareEmbedded, scheme == SoftwareNull:
		return scheme
	case build == NullBuild:
		return SoftwareNull
	case strings.Contains(build, SoftwareStandIn):
		return SoftwareStandIn
	}
	return t.Kind
}

// NullBuild is the build (gitVersion) with which the responder of package store/null answers.
const NullBuild = "plimsoll-null"

// NotMongoDB is what stands beside each figure of a target that is not MongoDB, "" for MongoDB and where nothing is
// known. It decides that for the whole program. target is one of: [Target.Software], the address of a specification,
// and the engine of a lab with its version.
func NotMongoDB(target string) string {
	if target == SoftwareREST {
		return target + ", not MongoDB"
	}
	scheme, _, _ := strings.Cut(target, ":")
	engine, _, _ := strings.Cut(scheme, " ")
	switch engine = strings.ToLower(engine); engine {
	case SoftwareEmbedded, SoftwareStandIn:
		return engine + ", not MongoDB"
	case SoftwareNull:
		return "null, not MongoDB, stores nothing"
	case SoftwareFerretDB, "documentdb":
		return "FerretDB, not MongoDB"
	case "http", "https":
		return SoftwareREST + ", not MongoDB"
	}
	return ""
}
