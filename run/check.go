package run

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// NewCheck returns a function that checks complete specifications without touching their targets: workload, parameters,
// load, and whether the target can do it. It opens each workload only once.
func NewCheck() func(spec.Run) error {
	type opening struct {
		classes []workload.Class
		err     error
	}
	opened := map[string]opening{}
	return func(asked spec.Run) error {
		target, err := ParseTarget(asked.Target)
		if err != nil {
			return err
		}
		key := fmt.Sprintf("%#v %s %d %d %s %s", asked.Workload, asked.Database, asked.Load.Operations, asked.Load.Clients,
			asked.Load.Replay, asked.Durability.At(asked.Target).W)
		w, known := opened[key]
		if !known {
			w.classes, w.err = checked(asked)
			opened[key] = w
		}
		if w.err != nil {
			return w.err
		}
		if err := CheckObjectives(asked, w.classes); err != nil {
			return err
		}
		if _, err := loadConfig(asked, Options{}, nil); err != nil {
			return err
		}
		if err := CheckClients(asked); err != nil {
			return err
		}
		if err := checkService(target, asked); err != nil || target.Kind == "http" {
			return err
		}
		if target.Kind == "mongodb" {
			return checkAddress(target.URI)
		}
		if target.Kind == "lab" {
			return nil // its properties are not known here
		}
		if target.Kind == "embedded" {
			if err := CheckEngine(asked, engineEmbedded); err != nil {
				return err
			}
		}
		return checkSingle(target, asked)
	}
}

// checked returns the classes of operations of the workload of a run, which can confirm its writes and has enough
// workers.
func checked(asked spec.Run) ([]workload.Class, error) {
	w, err := openWorkload(asked, Options{}, time.Now())
	if err != nil {
		return nil, err
	}
	return w.Classes(), errors.Join(checkConfirmed(w, asked), checkWorkers(w, asked))
}

// Classes returns the classes of operations of the workload of a run.
func Classes(asked spec.Run) ([]workload.Class, error) {
	w, err := openWorkload(asked, Options{}, time.Now())
	if err != nil {
		return nil, err
	}
	return w.Classes(), nil
}

// Collections returns the collections of the workload of a run.
func Collections(asked spec.Run) ([]string, error) {
	w, err := openWorkload(asked, Options{}, time.Now())
	if err != nil {
		return nil, err
	}
	return w.Collections(), nil
}

// CheckObjectives refuses objectives for operations that the workload of a run does not have.
func CheckObjectives(asked spec.Run, classes []workload.Class) error {
	list, err := measure.ParseObjectives(strings.Join(asked.Objectives, ","))
	if err != nil {
		return fmt.Errorf("objectives: %w", err)
	}
	var known []string
	for _, c := range classes {
		known = append(known, c.Name)
	}
	for _, o := range list {
		if o.Class != "" && !slices.Contains(known, o.Class) {
			return fmt.Errorf("objectives: %s: the workload %s has no operations of class %q%s (known: %s)", o.Text,
				asked.Workload.Name, o.Class, nearest.DidYouMean(o.Class, known), strings.Join(known, ", "))
		}
	}
	return nil
}

// checkAddress checks an address that needs no query of a name server.
func checkAddress(uri string) error {
	address, err := mongouri.Parse(uri)
	if err == nil {
		var known mongouri.Address
		if known, _, err = address.Known(); err != nil {
			return &store.AddressError{Address: store.Redact(uri), Problem: err.Error()}
		}
		if address.Scheme == "mongodb+srv" {
			return nil
		}
		_, err = connstring.ParseAndValidate(known.String())
	}
	if err != nil {
		// The text of the parser may contain a password.
		return &store.AddressError{Address: store.Redact(uri), Problem: "it cannot be read: write mongodb://HOST:PORT/?OPTION=VALUE, with the signs @ : / % in a password percent-encoded"}
	}
	return nil
}

// checkSingle refuses options that a target of one member cannot have.
func checkSingle(t Target, asked spec.Run) error {
	d := asked.Durability
	members, err := strconv.Atoi(d.W)
	switch {
	case err == nil && members > 1:
		return fmt.Errorf("durability.w: %s has one member, so %d cannot acknowledge", t, members)
	case err == nil && members < 0:
		return fmt.Errorf("durability.w: %d is not a number of members", members)
	case err != nil && d.W != "" && d.W != "majority":
		return fmt.Errorf("durability.w: %s has one member without tags, so no member is %q. Set 0, 1 or majority", t, d.W)
	}
	if d.ReadPreference == "secondary" {
		return fmt.Errorf("durability.read_preference: %s has no secondary", t)
	}
	if t.Kind == "embedded" && asked.Load.Clients > 1 {
		return fmt.Errorf("load.clients: %s is opened by one process at a time, so %d cannot share it", t, asked.Load.Clients)
	}
	return nil
}

// checkRoom refuses a run whose data do not fit on the volumes of its lab.
func checkRoom(l spec.Lab, asked spec.Run) error {
	if asked.LoadPhase.Skip || l.Storage.Size == 0 || l.InKubernetes() { // whose servers have the sizes of their own
		return nil
	}
	w, err := openWorkload(asked, Options{}, time.Now())
	if err != nil {
		return err
	}
	if w.Records() == 0 {
		return nil
	}
	if err := topology.CheckData(l, w.Records()*int64(sizeOf(w, 0))); err != nil {
		return fmt.Errorf("workload.records: %w", err)
	}
	return nil
}
