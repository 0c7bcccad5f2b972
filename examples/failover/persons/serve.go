package persons

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// endAtMost is how long requests that are under way may take when the service ends.
const endAtMost = 10 * time.Second

// Serve serves at an address, such as 127.0.0.1:8080 (port 0: a free one), until ctx ends; then it finishes the
// requests that it has. listening is called with the URL once requests are taken.
func Serve(ctx context.Context, address string, o Options, listening func(url string)) error {
	s, err := Open(o)
	if err != nil {
		return err
	}
	closing := func() error {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endAtMost)
		defer cancel()
		return s.Close(end)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot listen at %s: %w", address, err), closing())
	}
	// Each time is a promise to other callers: one that sends or reads slowly, or not at all, holds nothing for ever.
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      s.timeout + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	listening("http://" + l.Addr().String() + "/")
	select {
	case err = <-served:
	case <-ctx.Done():
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endAtMost)
		defer cancel()
		if err = server.Shutdown(end); err != nil {
			err = errors.Join(fmt.Errorf("requests were still under way after %v: %w", endAtMost, err), server.Close())
		}
		<-served
	}
	return errors.Join(err, closing())
}
