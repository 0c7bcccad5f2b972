package host

// Memory is what isolated hosts have: a group in which the kernel ends processes when there is no memory left.
type Memory interface {
	// OutOfMemory is how many processes of the host the kernel has killed since it was powered on because there was no
	// memory left: below the host's limit, or on the whole machine.
	OutOfMemory() int64
}
