// Package fastpath holds the data structures and the JSON code that keep filter and prioritize fast on thousands of
// nodes. Nothing here decides anything: each part replaces a few plain lines of Go by something faster.
//
//	part            does the work of                         saves
//	Index           map[K]*V, copied for each snapshot       the copy
//	Map             map[K]V, copied for each snapshot        the copy
//	VerdictCache    calling the decision again               the decision on nodes that did not change
//	Selection       []string of node names                   memory of the decision log
//	ArgsCache       encoding/json for ExtenderArgs           decoding the same node names for each pod
//	Append…         encoding/json for results                reflection, one node at a time
//	Buffers         make                                     garbage of the size of the bodies
//
// The tests compare each part with its plain form (reference_test.go) on random and fuzzed input. Callers may replace
// any part by its plain form without a change of behaviour.
package fastpath
