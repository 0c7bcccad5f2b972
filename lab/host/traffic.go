package host

// Traffic is what the kernel counted at the link of a host, since the cut or the limit was made.
type Traffic struct {
	// Dropped are packets that cuts made on this host did not let through.
	Dropped int64 `json:"dropped,omitempty"`
	// Delayed is how often a packet had to wait, or was lost, because of the link's rate.
	Delayed int64 `json:"delayed,omitempty"`
}

// Link is what isolated hosts have.
type Link interface {
	// Traffic is what was counted at the link.
	Traffic() (Traffic, error)
}
