package server

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// MemberFacts is what a member of a set says of itself. The questions need no rights, so arbiters answer them too.
type MemberFacts struct {
	Address string
	// Problem is why it did not answer; nothing else is known then.
	Problem string
	State   string // in words, see [Hello.Words]
	Release string
	// Clock is how far its clock is ahead of this machine's, known to within half the round trip, Within.
	Clock, Within time.Duration
	// LastWrite is the second of the last operation that it has applied, 0 if it has none.
	LastWrite uint32
}

// memberPatience bounds the questions to one member.
const memberPatience = 5 * time.Second

// QueryMembers asks all members at once. open connects to one of them.
func QueryMembers(ctx context.Context, addresses []string,
	open func(address string) (Commander, func(), error)) []MemberFacts {
	all := make([]MemberFacts, len(addresses))
	var wait sync.WaitGroup
	for i, address := range addresses {
		wait.Go(func() { all[i] = queryMember(ctx, address, open) })
	}
	wait.Wait()
	return all
}

func queryMember(ctx context.Context, address string, open func(string) (Commander, func(), error)) MemberFacts {
	ctx, cancel := context.WithTimeout(ctx, memberPatience)
	defer cancel()
	m := MemberFacts{Address: address}
	c, closed, err := open(address)
	if err != nil {
		m.Problem = err.Error()
		return m
	}
	defer closed()
	id, err := QueryBuild(ctx, c) // connects
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v", memberPatience)
	}
	if err != nil {
		m.Problem = err.Error()
		return m
	}
	before := time.Now()
	hello, err := QueryHello(ctx, c, id.Version)
	took := time.Since(before)
	if err != nil {
		m.Problem = err.Error()
		return m
	}
	m.State, m.Release = hello.Words(), id.Release
	m.LastWrite = hello.LastWrite.OpTime.TS.T
	m.Within = took/2 + time.Millisecond // the server states whole milliseconds
	m.Clock = hello.LocalTime.Sub(before.Add(took / 2))
	return m
}
