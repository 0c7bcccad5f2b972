package server

import (
	"context"
	"time"
)

// Load is how busy a server is.
type Load struct {
	Queued int64   // operations that wait for a lock or a ticket
	Dirty  float64 // share of the cache that differs from the disk; 0 if unknown
}

// QueryLoad queries how busy the server is.
func QueryLoad(ctx context.Context, c Commander) (Load, error) {
	s, err := query(ctx, c, "serverStatus")
	if err != nil {
		return Load{}, err
	}
	l := Load{Queued: whole(s, "globalLock", "currentQueue", "total")}
	dirty, _ := Number(s, "wiredTiger", "cache", "tracked dirty bytes in the cache")
	if most, ok := Number(s, "wiredTiger", "cache", "maximum bytes configured"); ok && most > 0 {
		l.Dirty = dirty / most
	}
	return l, nil
}

// Behind is how long the last secondary is behind the primary, 0 if that is not known.
func (s Set) Behind() time.Duration {
	var primary OpTime
	for _, m := range s.Members {
		if m.State == Primary {
			primary = m.Optime
		}
	}
	var most time.Duration
	for _, m := range s.Members {
		if m.State == Secondary && primary.TS.T > m.Optime.TS.T {
			most = max(most, time.Duration(primary.TS.T-m.Optime.TS.T)*time.Second)
		}
	}
	return most
}
