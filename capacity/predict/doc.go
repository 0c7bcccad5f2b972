// Package predict predicts the throughput of levels that were not measured from those that were, and holds predictions
// against measurements. A [Model] turns facts of a level (workers, cores, cache, sync time, …) into throughput with a
// few parameters. [Choose] fits all models, leaves out each level in turn, and takes the model with the smallest error.
// [Backtest] repeats the whole choice without each level, and states error and interval. What no model describes is
// refused in words. [Disk] predicts durable writes of an engine from a probe of the storage, and [Failures] says what a
// year of failures costs, from drills.
//
// Nothing here makes load, reads the clock or prints. The models of the Universal Scalability Law, the cache and the
// journal are those of [capacity].
package predict
