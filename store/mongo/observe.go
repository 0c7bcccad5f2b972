package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
)

// ServerStatus implements [store.Observer].
func (s *Store) ServerStatus(ctx context.Context) (bson.Raw, error) {
	return store.ServerStatus(ctx, s)
}

// ReplicaStatus implements [store.Observer].
func (s *Store) ReplicaStatus(ctx context.Context) (bson.Raw, error) {
	return store.ReplicaStatus(ctx, s)
}

var _ store.Observer = (*Store)(nil)
