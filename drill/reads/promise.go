package reads

// Circumstances are what promises about reads depend on.
type Circumstances struct {
	// Concern is the read concern that was asked for, "" for the server's default, which is local.
	Concern string
	// Causal says that each session was causally consistent.
	Causal bool
	// MajorityWrites says that writes were acknowledged by a majority.
	MajorityWrites bool
	// Durable says that what a majority has cannot be lost by what was broken.
	Durable bool
	// Set says that the target is a replica set, or a cluster of them, of MongoDB. Nobody else promises anything here.
	Set bool
}

// Promise says which guarantees hold, as MongoDB's documentation has it ("Causal Consistency and Read and Write
// Concerns"): with majority reads and majority writes all four; with majority reads and w:1 monotonic reads and writes
// follow reads; with local reads and majority writes monotonic writes; with local reads and w:1 none, as all of them
// can break in a failover.
//
// Without a causal session nothing is promised but that majority, snapshot and linearizable reads return nothing that
// is rolled back, and that linearizable reads see all majority writes acknowledged before. That what a read returns has
// been written is a matter of course.
func Promise(c Circumstances) map[string]bool {
	p := map[string]bool{Written: true}
	if !c.Set || !c.Durable {
		return p
	}
	majority := c.Concern == "majority"
	p[Committed] = majority || c.Concern == "linearizable" || c.Concern == "snapshot"
	p[ReadYourWrites] = c.Causal && majority && c.MajorityWrites
	p[MonotonicReads] = c.Causal && majority
	p[WritesFollowReads] = c.Causal && majority
	p[MonotonicWrites] = c.Causal && c.MajorityWrites && (majority || c.Concern == "" || c.Concern == "local")
	p[Linearizable] = c.Concern == "linearizable" && c.MajorityWrites
	return p
}
