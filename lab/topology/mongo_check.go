package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Check tests a specification against the servers of this machine: release, parameters, arguments, and TLS support. It
// starts no server that listens. If ctx permits no programs, it checks only what it knows without them. [Plan] checks
// everything that needs no server.
func Check(ctx context.Context, home string, asked spec.Lab) error {
	if asked.Engine.Name != engine.Mongod {
		return nil
	}
	e := asked.Engine
	programs, err := engine.FindMongo(ctx, home, e.Binary, e.Version, asked.Topology.Kind == spec.LabSharded)
	if err != nil {
		return err
	}
	if programs.Version == (engine.MongoVersion{}) {
		return nil
	}
	if err := checkRenamed(asked, programs.Version); err != nil {
		return err
	}
	if !permit.Has(ctx, permit.Execute) {
		return nil
	}
	var errs []error
	roles := e.Roles()
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		own := roles[role]
		if len(own.Parameters) == 0 && len(own.Args) == 0 && !(e.TLS && role == "") {
			continue // nothing to refuse
		}
		err := engine.TryMongo(ctx, programs, triedAs(role, asked), own.Parameters, own.Args, e.TLS)
		var refused *engine.Refusal
		switch {
		case errors.As(err, &refused) && refused.About == engine.AboutTLS:
			errs = append(errs, fmt.Errorf("engine.tls: %s (release %s) was built without TLS; leave tls out, "+
				"or use a build with OpenSSL (engine.binary)", programs.Mongod, programs.Version))
		case errors.As(err, &refused):
			errs = append(errs, fmt.Errorf("%s: release %s refuses it: %s", spec.EngineKey(role, refused.About),
				programs.Version, refused.Text))
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// triedAs returns the engine's role for the parameters of a role.
func triedAs(role string, asked spec.Lab) string {
	if role == "" {
		role = "member"
	}
	return mongoRole(MemberPlan{Role: role}, asked)
}

// checkRenamed refuses parameters that the release has renamed or does not have.
func checkRenamed(asked spec.Lab, v engine.MongoVersion) error {
	var errs []error
	roles := asked.Engine.Roles()
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		key := spec.EngineKey(role, "parameters")
		for _, name := range slices.Sorted(maps.Keys(roles[role].Parameters)) {
			switch now := server.ParameterName(name, v); now {
			case name:
			case "":
				errs = append(errs, fmt.Errorf("%s.%s: release %s has no such parameter; leave it out", key, name, v))
			default:
				errs = append(errs, fmt.Errorf("%s.%s: in release %s this parameter is named %s", key, name, v, now))
			}
		}
	}
	return errors.Join(errs...)
}
