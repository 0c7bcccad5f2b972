package mongo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/version"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/store"
)

// parse makes options of the driver from the target and the concern, with notes about the address. It resolves
// mongodb+srv:// addresses; ctx bounds that.
func parse(ctx context.Context, cfg store.Config) (o *options.ClientOptions, notes []string, err error) {
	if !strings.HasPrefix(cfg.Target, "mongodb://") && !strings.HasPrefix(cfg.Target, "mongodb+srv://") {
		// The error does not repeat the address: without a scheme, redaction cannot find a password in it.
		return nil, nil, errors.New("the address of the target must begin with mongodb:// or mongodb+srv://")
	}
	type result struct {
		o     *options.ClientOptions
		notes []string
		err   error
	}
	parsed := make(chan result, 1) // buffered, so that the goroutine always ends
	go func() {
		o, notes, err := dial.Options(cfg.Target)
		parsed <- result{o, notes, err}
	}()
	select {
	case r := <-parsed:
		if r.err != nil {
			return nil, nil, store.WrongAddress(cfg.Target, r.err.Error())
		}
		o, notes = r.o, r.notes
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("cannot resolve %s in time: check the name and the DNS server", store.Redact(cfg.Target))
	}
	if err := o.Validate(); err != nil {
		return nil, nil, store.WrongAddress(cfg.Target, store.OneLine(err.Error()))
	}
	if err := applyConcern(o, cfg.Concern); err != nil {
		return nil, nil, err
	}
	if o.AppName == nil {
		o.SetAppName("plimsoll")
	}
	if o.ServerSelectionTimeout == nil {
		o.SetServerSelectionTimeout(cfg.Timeout)
	}
	if o.ConnectTimeout == nil {
		o.SetConnectTimeout(cfg.Timeout)
	}
	return o, notes, nil
}

// applyConcern sets the concern, which overrides the address.
func applyConcern(o *options.ClientOptions, c store.Concern) error {
	wc := writeconcern.WriteConcern{}
	if o.WriteConcern != nil {
		wc = *o.WriteConcern
	}
	if c.W != "" {
		wc.W = parseW(c.W)
	}
	if c.Journal != nil {
		wc.Journal = c.Journal
	}
	if !wc.IsValid() {
		return fmt.Errorf("w:%v and j:%v contradict each other: a write without acknowledgement cannot wait for the journal; "+
			"use w:1 or j:false", wc.W, wc.Journal != nil && *wc.Journal)
	}
	if wc.W != nil || wc.Journal != nil {
		o.SetWriteConcern(&wc)
	}
	if c.Read != "" {
		o.SetReadConcern(&readconcern.ReadConcern{Level: c.Read})
	}
	if c.Causal && !o.WriteConcern.Acknowledged() {
		return store.ErrCausalUnacknowledged
	}
	if c.Preference == "" {
		return nil
	}
	mode, err := readpref.ModeFromString(c.Preference)
	if err != nil {
		return fmt.Errorf("read preference %q is not one of primary, primaryPreferred, secondary, secondaryPreferred, nearest",
			c.Preference)
	}
	rp, err := readpref.New(mode)
	if err != nil {
		return fmt.Errorf("read preference %q: %w", c.Preference, err)
	}
	o.SetReadPreference(rp)
	return nil
}

// parseW returns the w of a write concern: a number or a name.
func parseW(w string) any {
	if n, err := strconv.Atoi(w); err == nil {
		return n
	}
	return w
}

// settings of the clients.
type settings struct {
	acknowledged bool
	text         map[string]string
}

// effective returns the settings that affect the measurement.
func effective(o *options.ClientOptions, clients int) settings {
	on := func(b *bool) string { return strconv.FormatBool(b == nil || *b) }
	text := map[string]string{
		"client":             "driver",
		"client version":     "mongo-go-driver " + version.Driver,
		"client count":       strconv.Itoa(clients),
		"client maxPoolSize": strconv.FormatUint(*o.MaxPoolSize, 10),
		"client retryWrites": on(o.RetryWrites),
		"client retryReads":  on(o.RetryReads),
		"client tls":         strconv.FormatBool(o.TLSConfig != nil),
	}
	if len(o.Compressors) > 0 {
		text["client compressors"] = strings.Join(o.Compressors, ",")
	}
	if wc := o.WriteConcern; wc != nil {
		text["client write concern"] = describeConcern(wc)
	}
	if o.ReadConcern != nil {
		text["client read concern"] = o.ReadConcern.Level
	}
	if o.ReadPreference != nil {
		text["client read preference"] = o.ReadPreference.Mode().String()
	}
	return settings{acknowledged: o.WriteConcern.Acknowledged(), text: text}
}

func describeConcern(wc *writeconcern.WriteConcern) string {
	var parts []string
	if wc.W != nil {
		parts = append(parts, fmt.Sprintf("w:%v", wc.W))
	}
	if wc.Journal != nil {
		parts = append(parts, fmt.Sprintf("j:%t", *wc.Journal))
	}
	return strings.Join(parts, " ")
}
