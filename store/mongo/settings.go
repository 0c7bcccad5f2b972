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

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/plimsoll-bench/plimsoll/store"
)

// parse turns the target and the concern into options of the driver. An address of the form
// mongodb+srv:// is resolved here, so it can take time; ctx bounds it.
func parse(ctx context.Context, cfg store.Config) (*options.ClientOptions, error) {
	if !strings.HasPrefix(cfg.Target, "mongodb://") && !strings.HasPrefix(cfg.Target, "mongodb+srv://") {
		// The text is not repeated: without its scheme nobody can tell where a password in it is.
		return nil, errors.New("the address of the target must begin with mongodb:// or mongodb+srv://")
	}
	parsed := make(chan *options.ClientOptions, 1) // holds one, so that nobody is left behind
	go func() { parsed <- options.Client().ApplyURI(cfg.Target) }()
	var o *options.ClientOptions
	select {
	case o = <-parsed:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s could not be resolved in time: check the name and the DNS server", store.Redact(cfg.Target))
	}
	if err := o.Validate(); err != nil {
		return nil, store.WrongAddress(cfg.Target, store.OneLine(err.Error()))
	}
	if err := knownOptions(cfg.Target); err != nil {
		return nil, err
	}
	if err := applyConcern(o, cfg.Concern); err != nil {
		return nil, err
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
	return o, nil
}

// knownOptions refuses options that the driver does not know. It would ignore them with a line in a log,
// and the run would measure something else than what was asked for.
func knownOptions(target string) error {
	_, query, _ := strings.Cut(target, "?")
	if query == "" {
		return nil
	}
	// Hosts are replaced, so that nothing is looked up.
	cs, err := connstring.Parse("mongodb://localhost/?" + query)
	if err != nil {
		return nil // the driver itself took it: an option that only fits the real hosts
	}
	for name := range cs.UnknownOptions {
		return &store.AddressError{Address: store.Redact(target), Problem: "the option " + name + " is not known to the driver; check its spelling"}
	}
	return nil
}

// applyConcern lets what was asked for win over what the address says.
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
		return fmt.Errorf("w:%v with j:%v cannot be asked for: an unacknowledged write is never journaled before an answer; use w:1 or j:false",
			wc.W, wc.Journal != nil && *wc.Journal)
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
		return fmt.Errorf("read preference %q is not one of primary, primaryPreferred, secondary, secondaryPreferred, nearest", c.Preference)
	}
	rp, err := readpref.New(mode)
	if err != nil {
		return fmt.Errorf("read preference %q: %w", c.Preference, err)
	}
	o.SetReadPreference(rp)
	return nil
}

// parseW turns the text of a write concern into what the driver sends: a number, or a name.
func parseW(w string) any {
	if n, err := strconv.Atoi(w); err == nil {
		return n
	}
	return w
}

// settings is what the clients are set to.
type settings struct {
	acknowledged bool
	text         map[string]string
}

// effective writes down the settings that decide what is measured.
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
