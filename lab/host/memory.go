package host

// Memory is implemented by isolated hosts, which have a group in which the kernel kills processes for lack of memory.
type Memory interface {
	// OutOfMemory is how many processes of the host the kernel has killed since it was powered on, because the host
	// reached its limit or the machine had no memory left.
	OutOfMemory() int64
}
