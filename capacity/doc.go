// Package capacity says what size is needed: how many nodes, how much memory and disk, and why. It has the models
// behind that, each with the assumption that it stands on and a way to see where it ends:
//
//   - [Multiplier]: how much faster one deployment is than another, and how many nodes that makes;
//   - [Scaling]: throughput by the number of nodes, as assumed or as measured, and [FitUSL], the Universal Scalability
//     Law, which explains a measured course and never replaces a measurement;
//   - [Keys.Predict]: which share of requests finds its page in the cache, from the key distribution of the workload;
//   - [GroupCommit]: what a disk that syncs in so much time allows in durable writes;
//   - [Size]: all of them together, against a need, and a price list if there is one.
//
// Nothing here makes load, reads the clock or prints. Evidence comes out of records; a figure that no record holds is
// said to be unknown.
package capacity
