// Package timeline keeps the readings of a benchmark in order, and computes changes and results from them. It is pure:
// a reading carries its own time.
//
// A change is reported once, when two readings differ. Readings have values in force, not requested ones: the CPU request
// that kubelet has applied, the loaders that the job runs with, the category that the coordinator has published.
package timeline
