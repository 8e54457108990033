// Package movechaos decides what `make chaos` does and what must hold meanwhile: which program is killed in which state of a move, and
// which GPU memory has a record on the bus. It is pure, so that its tables are tested without a cluster.
//
// The pods alone do not show a leak. A reservation that nothing releases takes its memory from other jobs, and a job without a record
// may get company that its GPU has no room for. Memory therefore compares the records of the bus with the pods of the API server.
package movechaos
