package reads

// Circumstances are what guarantees for reads depend on.
type Circumstances struct {
	Concern        string // read concern, "" for the server's default, which is local
	Causal         bool   // each session was causally consistent
	MajorityWrites bool   // a majority acknowledged the writes
	Durable        bool   // the faults cannot lose what a majority has
	Set            bool   // the target is a replica set of MongoDB, or a cluster of them. Others guarantee nothing
}

// Promise returns which guarantees hold, from MongoDB's documentation ("Causal Consistency and Read and Write
// Concerns"): with majority reads and majority writes all four; with majority reads and w:1 monotonic reads and writes
// follow reads; with local reads and majority writes monotonic writes; with local reads and w:1 none, because all can
// break in a failover.
//
// Independent of causal sessions, majority, snapshot and linearizable reads return nothing that is rolled back. All of
// them are states of one history, so they have one order. Linearizable reads see all majority writes that were
// acknowledged before. A read never returns what was not written.
func Promise(c Circumstances) map[string]bool {
	p := map[string]bool{Written: true}
	if !c.Set || !c.Durable {
		return p
	}
	majority := c.Concern == "majority"
	p[Committed] = majority || c.Concern == "linearizable" || c.Concern == "snapshot"
	p[OneOrder] = p[Committed]
	p[ReadYourWrites] = c.Causal && majority && c.MajorityWrites
	p[MonotonicReads] = c.Causal && majority
	p[WritesFollowReads] = c.Causal && majority
	p[MonotonicWrites] = c.Causal && c.MajorityWrites && (majority || c.Concern == "" || c.Concern == "local")
	p[Linearizable] = c.Concern == "linearizable" && c.MajorityWrites
	return p
}
