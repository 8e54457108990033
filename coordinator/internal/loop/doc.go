// Package loop feeds the state machine of one node (growth/node) with events and executes its effects. It makes no
// decisions.
//
//	sockets, logs, files, informers, bus watches ──► node.Event ──► node.Step ──► node.Effects
//	cgroups, read once each interval             ──►                                   │
//	                                                                                   ▼
//	                 resizes, configs, samples, events, annotations, memory ◄── execute
//
// One goroutine owns the node. Everything else posts events to it. It never waits for the API server, the bus or a job:
// the ports take the newest request and return.
package loop
