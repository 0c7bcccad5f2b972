package wire

import (
	"fmt"
	"sort"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// optionUse is the support of an option of a connection string.
type optionUse uint8

const (
	used optionUse = iota
	idle           // accepted, but has no effect here; noted
)

// optionUses has the options by lower-case name. Other options are refused, because they may change the measurement.
var optionUses = map[string]optionUse{
	"appname": used, "authmechanism": used, "authsource": used, "connect": used, "connecttimeoutms": used,
	"directconnection": used, "journal": used, "localthresholdms": used, "readconcernlevel": used,
	"readpreference": used, "replicaset": used, "srvmaxhosts": used, "srvservicename": used, "ssl": used,
	"sslcertificateauthorityfile": used, "sslclientcertificatekeyfile": used, "sslinsecure": used, "tls": used,
	"tlsallowinvalidhostnames": used, "tlscafile": used,
	"tlscertificatefile": used, "tlscertificatekeyfile": used, "tlsinsecure": used, "tlsprivatekeyfile": used,
	"w": used,

	"enableoverloadretargeting": idle, "heartbeatfrequencyms": idle, "heartbeatintervalms": idle,
	"maxadaptiveretries": idle, "maxconnecting": idle, "maxidletimems": idle, "maxpoolsize": idle,
	"minpoolsize": idle, "retryreads": idle, "retrywrites": idle, "servermonitoringmode": idle,
	"serverselectiontimeoutms": idle, "timeoutms": idle,
	"tlsdisablecertificaterevocationcheck": idle, "tlsdisableocspendpointcheck": idle,
	"zlibcompressionlevel": idle, "zstdcompressionlevel": idle,
}

// checkOptions refuses unsupported options and notes those without effect.
func (s *settings) checkOptions(cs *connstring.ConnString) error {
	names := make([]string, 0, len(cs.Options))
	for name := range cs.Options {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		use, known := optionUses[name]
		switch {
		case !known:
			if off := strings.ToLower(strings.Join(cs.Options[name], ",")); harmless(name, off) {
				continue
			}
			return unsupported("the option " + name)
		case use == idle:
			s.notes = append(s.notes, "the option "+name+" has no effect with the wire client")
		}
	}
	switch mech := strings.ToUpper(cs.AuthMechanism); mech {
	case "", mechanismSHA1, mechanismSHA256:
	default:
		return unsupported("authMechanism=" + mech)
	}
	return nil
}

// harmless reports whether the value switches an unsupported option off.
func harmless(name, value string) bool {
	switch name {
	case "compressors":
		return value == "" || value == "none"
	case "loadbalanced":
		return value == "false"
	}
	return false
}

func unsupported(what string) error {
	return fmt.Errorf("the wire client does not support %s of the connection string: leave it out or use --client driver", what)
}
