// Package history follows the bus and keeps what the tuner learns from: the present state of all nodes and jobs, and
// for each job its last few measurements.
//
// A measurement is taken from a sample only when it tells something about a steady job: it has advanced, it runs with
// the workers it had in the sample before, and no config is on its way to it. At most Kept measurements are held for a
// job, and none for a job whose sample is gone.
//
// A Snapshot never changes once it is seen. While the bus is away the last one stays, marked with the error and with
// the time since when.
package history
