package host

// Traffic has the kernel's counters of a host's link, since the cut or the limit was made.
type Traffic struct {
	// Dropped are packets that cuts on this host dropped.
	Dropped int64 `json:"dropped,omitempty"`
	// Delayed is how often a packet waited, or was lost, because of the link's rate.
	Delayed int64 `json:"delayed,omitempty"`
}

// Link is implemented by isolated hosts.
type Link interface {
	Traffic() (Traffic, error)
}
