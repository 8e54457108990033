// Package fairfinish divides a node's cores among training jobs so that no job ends later than fair sharing would have
// ended it, and spends all the slack that this leaves on growth: the policy `harmless`.
//
// Decide is the whole of it: a pure function from a State, the time, and the jobs as they are now to the next State and
// each job's share. State is a value that can be stored as JSON.
package fairfinish
