// Package capacity computes the size that is needed: nodes, memory and disk, with reasons. It has these models, each
// with its assumption and its limits:
//
//   - [Multiplier]: how much faster one deployment is than another, and how many nodes match it;
//   - [Scaling]: throughput by the number of nodes, assumed or measured, and [FitUSL], the Universal Scalability Law,
//     which explains measurements and never replaces them;
//   - [Keys.Predict]: the cache hit ratio, from the key distribution of the workload;
//   - [measure.GroupCommit]: the durable writes that the sync time of a disk allows;
//   - [Size]: all of them together, for a need and an optional price list.
//
// Nothing here makes load, reads the clock or prints. Evidence comes from records; a figure that no record has is
// reported as unknown.
package capacity
