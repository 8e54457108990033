// Package clustertest is a small cluster for tests: a bus, a fake API server that treats a Binding as the real one does (UID
// and resourceVersion are preconditions, annotations are copied to the pod), and caches that watch both.
//
// It is made for testing/synctest: Settle returns when every change has reached the caches.
package clustertest
