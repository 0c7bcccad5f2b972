package topology

import "errors"

// newDocumentDB makes a cluster of PostgreSQL members with gateways.
func newDocumentDB(site Site) (Cluster, error) { return nil, errors.New("being built") }
