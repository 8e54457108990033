// Package processtest runs programs for tests and benchmarks. Their output goes to files, and its end into the error
// when a program does not become ready.
package processtest
