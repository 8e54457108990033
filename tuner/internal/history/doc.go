// Package history follows the bus and keeps the state that the tuner learns from: nodes, jobs, and the last
// measurements of each job.
//
//	bus watches (nodes, jobs) ─> Recorder ─> Snapshot ─> packages advise, web and metrics
//
// A sample yields a measurement if the job is steady: it has advanced, and it runs with the same workers as in the sample
// before. While some processes of a job may have applied a configuration that others have not, it is not steady. A job has
// at most MaxMeasurements measurements, and none after its sample is gone.
//
// Invariant: a published Snapshot never changes. While the bus is unavailable the last Snapshot stays, with the error
// and its start.
package history
