package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

// What a release does not have is found out without running a server.
func TestTryMongo(t *testing.T) {
	try := func(t *testing.T, binary string) {
		programs, err := engine.FindMongo(t.Context(), t.TempDir(), binary, "", true)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			role        string
			parameters  map[string]string
			args        []string
			about, want string
		}{
			{engine.MongoStandalone, map[string]string{"syncdelay": "30"}, nil, "", ""},
			{engine.MongoMember, map[string]string{"unknownThing": "1"}, nil, engine.AboutParameters, "Unknown --setParameter 'unknownThing'"},
			{engine.MongoShard, nil, []string{"--oplogSize", "990"}, "", ""},
			{engine.MongoConfig, nil, []string{"--nosuchoption"}, engine.AboutArgs, "nosuchoption"},
			{engine.MongoArbiter, map[string]string{"unknownThing": "1"}, nil, engine.AboutParameters, "unknownThing"},
			{engine.MongoRouter, map[string]string{"unknownThing": "1"}, nil, engine.AboutParameters, "unknownThing"},
			{engine.MongoRouter, nil, []string{"--nosuchoption"}, engine.AboutArgs, "nosuchoption"},
			{engine.MongoRouter, nil, nil, "", ""},
		} {
			err := engine.TryMongo(t.Context(), programs, c.role, c.parameters, c.args, false)
			var refused *engine.Refusal
			if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &refused) || refused.About != c.about ||
				!strings.Contains(refused.Text, c.want)) {
				t.Errorf("%s with %v %q: error %+v, want %s %q", c.role, c.parameters, c.args, err, c.about, c.want)
			}
		}
		enginetest.HasTLS(t, binary) // or it refuses TLS in words that are understood
	}
	t.Run("stand-in", func(t *testing.T) { try(t, enginetest.StandinMongo(t, "7.0.24")) })
	if binary, ok := enginetest.RealMongo(t); ok {
		t.Run("mongod", func(t *testing.T) { try(t, binary) })
	}
	programs, err := engine.FindMongo(t.Context(), t.TempDir(), enginetest.StandinMongo(t, "4.4.6", "no-tls"), "", false)
	if err != nil {
		t.Fatal(err)
	}
	var refused *engine.Refusal
	if err := engine.TryMongo(t.Context(), programs, engine.MongoMember, nil, nil, true); !errors.As(err, &refused) ||
		refused.About != engine.AboutTLS {
		t.Errorf("TLS without OpenSSL: %v", err)
	}
}
