package mongouri

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// options are the options of addresses that MongoDB's manual, its specifications of connection strings and the official
// drivers document, as they write them. A text says why one has no effect here; an empty one, that both clients use it,
// or say that they do not.
var options = map[string]string{
	"appName": "", "authMechanism": "", "authMechanismProperties": "", "authSource": "", "compressors": "", "connect": "",
	"connectTimeoutMS": "", "directConnection": "", "enableOverloadRetargeting": "", "heartbeatFrequencyMS": "",
	"heartbeatIntervalMS": "", "j": "", "journal": "", "loadBalanced": "", "localThresholdMS": "", "maxAdaptiveRetries": "",
	"maxConnecting": "", "maxIdleTimeMS": "", "maxPoolSize": "", "maxStaleness": "", "maxStalenessSeconds": "",
	"minPoolSize": "", "readConcernLevel": "", "readPreference": "", "readPreferenceTags": "", "replicaSet": "",
	"retryReads": "", "retryWrites": "", "serverMonitoringMode": "", "serverSelectionTimeoutMS": "", "srvMaxHosts": "",
	"srvServiceName": "", "ssl": "", "sslCertificateAuthorityFile": "", "sslClientCertificateKeyFile": "",
	"sslClientCertificateKeyPassword": "", "sslInsecure": "", "sslInvalidHostNameAllowed": "", "timeoutMS": "", "tls": "",
	"tlsAllowInvalidCertificates": "", "tlsAllowInvalidHostnames": "", "tlsCAFile": "", "tlsCertificateFile": "",
	"tlsCertificateKeyFile": "", "tlsCertificateKeyFilePassword": "", "tlsDisableCertificateRevocationCheck": "",
	"tlsDisableOCSPEndpointCheck": "", "tlsInsecure": "", "tlsPrivateKeyFile": "", "w": "", "zlibCompressionLevel": "",
	"zstdCompressionLevel": "",

	"wTimeoutMS": bounded, "wtimeout": bounded, "socketTimeoutMS": bounded, "socketTimeout": bounded, "connectTimeout": bounded,
	"waitQueueTimeoutMS": queued, "waitQueueTimeout": queued, "waitQueueMultiple": queued, "waitQueueSize": queued,
	"maxLifeTimeMS": lasting, "maxLifeTime": lasting, "maxConnectionLifeTimeMS": lasting, "maxIdleTime": lasting,
	"keepAlive": lasting, "keepAliveInitialDelay": lasting, "noDelay": lasting, "socketCheckIntervalMS": lasting,
	"uuidRepresentation": values, "guidRepresentation": values, "datetime_conversion": values, "document_class": values,
	"tz_aware": values, "tzinfo": values, "type_registry": values, "unicode_decode_error_handler": values,
	"promoteBuffers": values, "promoteLongs": values, "promoteValues": values, "serializeFunctions": values,
	"ignoreUndefined": values, "enableUtf8Validation": values, "forceServerObjectId": values, "raw": values,
	"useNewUrlParser": old, "useUnifiedTopology": old, "slaveOk": old, "safe": old, "fsync": old, "autoReconnect": old,
	"autoConnectRetry": old, "reconnectTries": old, "reconnectInterval": old, "poolSize": old, "readConcern": "write readConcernLevel",
	"serverSelectionTryOnce": search, "serverSelectionTimeout": search, "heartbeatInterval": search, "heartbeatTimeout": search,
	"heartbeatConnectTimeoutMS": search, "heartbeatSocketTimeoutMS": search, "minHeartbeatFrequencyMS": search,
	"localThreshold": search, "acceptableLatencyMS": search, "secondaryAcceptableLatencyMS": search, "family": search,
	"ipv6":      search,
	"proxyHost": proxy, "proxyPort": proxy, "proxyUsername": proxy, "proxyPassword": proxy,
	"gssapiServiceName": "write authMechanismProperties=SERVICE_NAME:…", "canonicalizeHostname": "write authMechanismProperties=CANONICALIZE_HOST_NAME:true",
	"authOIDCAllowedHosts": "write authMechanismProperties", "serverApi": "use a user's settings of the server instead", "server_api": "use a user's settings of the server instead",
	"sslVerifyCertificate": "write tlsAllowInvalidCertificates", "sslValidate": "write tlsAllowInvalidCertificates",
	"ssl_cert_reqs": "write tlsAllowInvalidCertificates", "ssl_match_hostname": "write tlsAllowInvalidHostnames",
	"checkServerIdentity": "write tlsAllowInvalidHostnames", "ssl_ca_certs": "write tlsCAFile", "sslCA": "write tlsCAFile",
	"tlsCAPath": "write tlsCAFile", "ssl_certfile": "write tlsCertificateFile", "sslCert": "write tlsCertificateFile",
	"ssl_keyfile": "write tlsPrivateKeyFile", "sslKey": "write tlsPrivateKeyFile", "ssl_pem_passphrase": "write tlsCertificateKeyFilePassword",
	"sslPass": "write tlsCertificateKeyFilePassword", "tlsCRLFile": "revocation lists are not read", "ssl_crlfile": "revocation lists are not read",
	"sslCRL": "revocation lists are not read", "driverInfo": "the name of the driver is not sent",
	"monitorCommands": "Plimsoll monitors what it needs", "autoEncryption": "fields are not encrypted",
}

// Why groups of options have no effect.
const (
	bounded = "Plimsoll bounds operations by --timeout"
	queued  = "the queue for connections has no limit"
	lasting = "connections stay open as long as they work"
	values  = "values are not converted"
	old     = "current drivers do not have it"
	search  = "servers are searched as the Go driver does it"
	proxy   = "connections are made without a proxy"
)

// synonyms are the names by which the parser of the Go driver knows an option.
var synonyms = map[string]string{"j": "journal", "tlsallowinvalidcertificates": "tlsInsecure",
	"sslinvalidhostnameallowed": "tlsAllowInvalidHostnames"}

// Known returns the address with the options that the clients know, by the names that they know. It has a note for each
// option that has no effect. An option that nobody documents is an error.
func (a Address) Known() (known Address, notes []string, err error) {
	known = a
	for _, o := range a.options {
		name, value, _ := strings.Cut(o, "=")
		written, why, ok := documented(name)
		switch {
		case !ok:
			return a, nil, fmt.Errorf("there is no option %s%s", name, nearest.DidYouMean(name, optionNames()))
		case why != "":
			known.Drop(name)
			notes = append(notes, fmt.Sprintf("the option %s of the address has no effect: %s", written, why))
		}
		if other := synonyms[strings.ToLower(name)]; other != "" {
			known.Drop(name)
			if _, said := known.Option(other); !said {
				known.options = append(known.options, other+"="+value)
			}
		}
	}
	return known, notes, nil
}

// documented looks an option up. Case does not matter. Options of Studio 3T begin with 3t.
func documented(name string) (written, why string, ok bool) {
	if len(name) > 3 && strings.EqualFold(name[:3], "3t.") {
		return name, "it is for Studio 3T", true
	}
	for written, why := range options {
		if strings.EqualFold(written, name) {
			return written, why, true
		}
	}
	return "", "", false
}

// optionNames are the names of all options that have an effect, for suggestions.
func optionNames() []string {
	var names []string
	for name, why := range options {
		if why == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
