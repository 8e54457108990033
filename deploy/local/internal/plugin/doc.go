// Package plugin tests scripts/kubectl-gpushare, the kubectl plugin. It runs the script with a kubectl that replays
// recorded output, including what kubectl prints when the API server refuses.
//
// The recordings are from a local cluster. The templates that the script passes to kubectl are executed on objects of a test. The end-to-end
// test of package benchmarks/e2e runs the script on a real cluster.
package plugin
