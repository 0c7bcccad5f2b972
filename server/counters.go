package server

import (
	"context"
	"errors"
	"time"
)

// QueryCalls returns how often a server has run a command successfully since it started.
func QueryCalls(ctx context.Context, c Commander, command string) (float64, error) {
	status, err := query(ctx, c, "serverStatus")
	if err != nil {
		return 0, err
	}
	total, ok := Number(status, "metrics", "commands", command, "total")
	if !ok {
		return 0, errors.New("the server does not count its commands")
	}
	failed, _ := Number(status, "metrics", "commands", command, "failed")
	return total - failed, nil
}

// QueryUptime returns for how long a server has been running.
func QueryUptime(ctx context.Context, c Commander) (time.Duration, error) {
	status, err := query(ctx, c, "serverStatus")
	if err != nil {
		return 0, err
	}
	up, ok := Number(status, "uptimeMillis")
	if !ok {
		return 0, errors.New("the server does not report its uptime")
	}
	return time.Duration(up) * time.Millisecond, nil
}
