// Package clustertest is a small cluster for tests: a bus in memory, an API server's double that treats a Binding as the
// real one does (uid and resourceVersion are preconditions, annotations go onto the pod), and a view that follows both.
//
// It is made for testing/synctest: Settle returns when everything that happened has reached the view.
package clustertest
