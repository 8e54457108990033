// Package processtest runs programs for tests and benchmarks. Their output goes to files. The last part of the output is
// in the error of a program that does not become ready.
package processtest
