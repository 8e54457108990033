// Package processtest runs programs for tests and benchmarks. Their output goes to files. If a program does not become
// ready, the error contains the end of its output.
package processtest
