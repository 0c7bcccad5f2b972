package server

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// FerretDB is a gateway with MongoDB's protocol in front of PostgreSQL. This file has its differences from a mongod, as
// seen in FerretDB 2.7. DocumentDB's own gateway differs in other ways (docs/engines.md): it says that it is a mongos,
// and its buildInfo does not name it.
const FerretDB = "ferretdb"

// IgnoresConcerns reports whether servers of a kind ignore write concerns. FerretDB accepts w:2 on a single server, and
// tags that are not defined.
func IgnoresConcerns(kind string) bool { return kind == FerretDB }

// AnswersUnacknowledged reports whether servers of a kind reply to writes with w:0. A driver does not expect such a
// reply and takes it for the reply to the next request on the connection.
func AnswersUnacknowledged(kind string) bool { return kind == FerretDB }

// Undescribed reports whether servers of a kind cannot be asked for their parameters, members and host. FerretDB always
// describes itself as a standalone server, and only its serverStatus names the database behind it.
func Undescribed(kind string) bool { return kind == FerretDB }

// readGateway reads the buildInfo of a gateway: the emulated version of MongoDB, and its own version in the field
// ferretdb.
func (id *Identity) readGateway(r bson.Raw) {
	_, named := lookup(r, "ferretdb").DocumentOK()
	if !named && !strings.Contains(strings.ToLower(id.Release), "ferretdb") {
		return
	}
	id.Kind, id.Vendor = FerretDB, "FerretDB"
	if own := Text(r, "ferretdb", "version"); own != "" {
		id.Release = own
	}
}

// Backend returns the database behind a gateway from its serverStatus: "PostgreSQL 18.6 with DocumentDB 1.0.0".
func Backend(status bson.Raw) string {
	var name string
	// "PostgreSQL 18.6 (Debian 18.6-3) on x86_64-pc-linux-gnu, compiled by …" and "1.0.0 gitref: …"
	if words := strings.Fields(Text(status, "ferretdb", "postgresql")); len(words) > 1 {
		name = words[0] + " " + words[1]
	}
	if words := strings.Fields(Text(status, "ferretdb", "documentdb")); len(words) > 0 && name != "" {
		name += " with DocumentDB " + words[0]
	}
	return name
}
