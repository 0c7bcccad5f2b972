package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// parameterKind is the kind of changes of parameters in journals.
const parameterKind = "parameter"

// parameters are parameters of a member of a lab. In a journal, they are those before a change, without credentials:
// the lab knows them.
type parameters struct {
	Lab    string      `json:"lab"`
	Member string      `json:"member"` // its address
	Values []parameter `json:"values"`
}

// parameter is the value of a parameter: a text, or a number if that is empty.
type parameter struct {
	Name   string `json:"name"`
	Text   string `json:"text,omitempty"`
	Number int32  `json:"number,omitempty"`
}

func (p parameter) command() bson.D {
	var value any = p.Text
	if p.Text == "" {
		value = p.Number
	}
	return bson.D{{Key: "setParameter", Value: 1}, {Key: p.Name, Value: value}}
}

// capacities are the parameters of a cache or of tickets at a share of what a server has. They are those of 4.4 to 6.0,
// and from 7.0 those with the algorithm of fixed tickets.
func capacities(status bson.Raw, what string, share float64) (list []parameter) {
	if what == "cache" {
		bytes, _ := server.At("wiredTiger/cache/maximum bytes configured").Number(status)
		return []parameter{{Name: "wiredTigerEngineRuntimeConfig", Text: fmt.Sprintf("cache_size=%dM", int64(bytes*share)>>20)}}
	}
	for _, kind := range []string{"Read", "Write"} {
		total, _ := server.At("wiredTiger/concurrentTransactions/" + strings.ToLower(kind) + "/totalTickets").Number(status)
		list = append(list, parameter{Name: "wiredTigerConcurrent" + kind + "Transactions", Number: int32(max(5, total*share))})
	}
	return list
}

// onMember calls use with a connection to the member.
func (p *parameters) onMember(ctx context.Context, env *environment, use func(server.Commander) error) error {
	l, err := findLab(env)(ctx, p.Lab)
	if err != nil {
		return err
	}
	at, err := l.Address(ctx, spec.Durability{})
	if err != nil {
		return err
	}
	uri, err := run.MemberURI(at.URI, p.Member)
	if err != nil {
		return err
	}
	o, _, err := dial.Options(uri)
	if err != nil {
		return err
	}
	client, err := driver.Connect(o.SetAppName("plimsoll capacity").SetServerSelectionTimeout(askPatience))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	return use(server.Driver(client))
}

// set sets the parameters.
func (p *parameters) set(ctx context.Context, env *environment) error {
	return p.onMember(ctx, env, func(c server.Commander) error {
		for _, v := range p.Values {
			if _, err := server.Query(ctx, c, v.command()); err != nil {
				return err
			}
		}
		return nil
	})
}

// parameterHealer restores parameters, also after the process that changed them was killed.
type parameterHealer struct{ env *environment }

func (h parameterHealer) Heal(undo json.RawMessage, _ func(string) string) (platform.Step, error) {
	var p parameters
	if err := json.Unmarshal(undo, &p); err != nil {
		return platform.Step{}, err
	}
	var texts []string
	for _, v := range p.Values {
		text, err := bson.MarshalExtJSON(v.command(), false, false)
		if err != nil {
			return platform.Step{}, err
		}
		texts = append(texts, fmt.Sprintf("db.adminCommand(%s)", text))
	}
	text := fmt.Sprintf("mongosh mongodb://%s/?directConnection=true --eval '%s'", p.Member, strings.Join(texts, "; "))
	return platform.Request("the restoring of parameters", text, func(ctx context.Context) (string, error) {
		err := p.set(ctx, h.env)
		if errors.Is(err, lab.ErrNoLab) || errors.Is(err, lab.ErrGone) {
			return "the lab " + p.Lab + " is down, so there is nothing to restore", nil
		}
		return "", err
	}), nil
}

// changeParameter reduces the cache or the tickets of the primary of a lab. A watchdog restores them if this process is
// killed.
func changeParameter(ctx context.Context, env *environment, name, what string, share float64) (string, func() error,
	error) {
	primary, err := primaryOfLab(ctx, env, name)
	if err != nil {
		return "", nil, err
	}
	before := parameters{Lab: name, Member: primary}
	less := before
	if err := before.onMember(ctx, env, func(c server.Commander) error {
		status, err := server.QueryStatistics(ctx, c)
		before.Values, less.Values = capacities(status, what, 1), capacities(status, what, share)
		return err
	}); err != nil {
		return "", nil, err
	}
	dir, err := journals(env)
	if err != nil {
		return "", nil, err
	}
	d, err := platform.NewDeployment(platform.DeploymentOptions{Journals: dir,
		Watch: func(journal string) error { return startWatchdog(ctx, journal) }})
	if err != nil {
		return "", nil, err
	}
	revert, err := d.Keep(platform.Entry{Fault: "less " + what, Member: primary, Addresses: []string{primary},
		Kind: parameterKind}, before, parameterHealer{env})
	if err != nil {
		return "", nil, errors.Join(err, d.Close())
	}
	restore := func() error { return errors.Join(revert(ctx), d.Close()) }
	if err := less.set(ctx, env); err != nil {
		return "", nil, errors.Join(err, restore())
	}
	return what + " of the primary", restore, nil
}

// primaryOfLab is the address of the primary of a lab.
func primaryOfLab(ctx context.Context, env *environment, name string) (address string, err error) {
	err = withLab(ctx, env, name, func(l *lab.Handle) error {
		d, err := l.Describe(ctx, false)
		if err != nil {
			return err
		}
		for _, m := range d.Members {
			if m.Kind == "mongod" && (m.Role == "primary" || m.Role == "standalone") {
				address = m.Address
				return nil
			}
		}
		return fmt.Errorf("the lab %s has no primary now", name)
	})
	return address, err
}
