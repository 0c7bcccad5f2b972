package fleet

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/run"
)

// permitted are the fields of an order that an agent on another machine takes. None of them names a file, a directory
// or a program of the agent's machine, or an address besides that of a MongoDB. Every other field is refused.
var permitted = []string{
	"address", "brief", "client", "clients", "command", "duty", "number", "spec.client", "spec.database",
	"spec.durability.causal", "spec.durability.journal", "spec.durability.name", "spec.durability.read_concern",
	"spec.durability.read_preference", "spec.durability.w", "spec.labels", "spec.load.arrivals", "spec.load.drop_after",
	"spec.load.duration", "spec.load.late", "spec.load.operations", "spec.load.pace", "spec.load.rate",
	"spec.load.seed", "spec.load.stages.duration", "spec.load.stages.rate", "spec.load.stages.step",
	"spec.load.stages.workers", "spec.load.timeout", "spec.load.warmup", "spec.load.workers", "spec.load_phase.batch",
	"spec.load_phase.drop", "spec.load_phase.only", "spec.load_phase.parallel", "spec.load_phase.skip",
	"spec.storage_policy", "spec.target", "spec.via", "spec.workload.file.path", "spec.workload.file.text",
	"spec.workload.allow_other_databases", "spec.workload.mode", "spec.workload.name", "spec.workload.params",
	"spec.workload.records", "spec.workload.seed",
	"fill.collection", "fill.from", "fill.to", "fill.resume", "fill.again", "tool.commit", "tool.go", "tool.modified",
	"tool.name", "tool.version", "turns.cycle", "turns.mine", "whole.arrivals", "whole.clients", "whole.drop_after",
	"whole.duration", "whole.late", "whole.operations", "whole.pace", "whole.place", "whole.rate",
	"whole.seed", "whole.shares", "whole.stages.duration", "whole.stages.rate", "whole.stages.step",
	"whole.stages.workers", "whole.strict", "whole.timeout", "whole.warmup", "whole.workers", "whole.zones",
}

// mechanisms are how an agent logs in at the address of an order. The others take an identity from its machine.
var mechanisms = []string{"", "SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN", "MONGODB-X509"}

// check returns why an agent on another machine refuses an order.
func (o *order) check() error {
	if field := notPermitted(reflect.ValueOf(*o), ""); field != "" {
		return wrong(fmt.Errorf("the agent refuses an order with %s. Only processes on the coordinator's machine take it", field))
	}
	if w := o.Spec.Workload; w.IsFile() && (w.File == nil || w.File.Path != w.Name) {
		return wrong(errors.New("the agent refuses an order with the name of a workload file and without its text"))
	}
	if err := checkTarget(o.Spec.Target, o.Address); err != nil {
		return wrong(fmt.Errorf("the agent refuses the target of the order: %w", err))
	}
	return nil
}

func checkTarget(target, address string) error {
	t, err := run.ParseTarget(target)
	if err != nil {
		return err
	}
	if t.Kind == "lab" || address != "" {
		if t, err = run.ParseTarget(address); err != nil {
			return err
		}
	}
	switch t.Kind {
	case "null", "null-tcp":
		return nil
	case "mongodb":
	default:
		return fmt.Errorf("%s is not a MongoDB. Agents on other machines load mongodb:// and null: only", t)
	}
	a, err := mongouri.Parse(t.URI)
	if err != nil {
		return err
	}
	if how, _ := a.Option("authMechanism"); !slices.Contains(mechanisms, strings.ToUpper(how)) {
		return fmt.Errorf("it logs in by %s, with an identity of the agent's machine. Use a user and a password", how)
	}
	return nil
}

// notPermitted returns the first field with a value that is not permitted, as JSON has it; "" for none.
func notPermitted(v reflect.Value, path string) string {
	switch {
	case v.IsZero():
		return ""
	case !mayHold(path):
		return path // also if there is nothing in it
	case v.Kind() == reflect.Pointer:
		return notPermitted(v.Elem(), path)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			if field := notPermitted(v.Index(i), path); field != "" {
				return field
			}
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if field := notPermitted(v.Field(i), below(path, v.Type().Field(i))); field != "" {
				return field
			}
		}
	case !slices.Contains(permitted, path):
		return path
	}
	return ""
}

// mayHold reports whether a field is permitted, or one below it.
func mayHold(path string) bool {
	return path == "" || slices.ContainsFunc(permitted, func(p string) bool { return strings.HasPrefix(p+".", path+".") })
}

// below is the path of a field of a structure.
func below(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		name = strings.ToLower(f.Name)
	}
	return strings.TrimPrefix(path+"."+name, ".")
}
