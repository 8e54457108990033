// Package runs keeps the cluster's history of programs on the bus: it merges what coordinators publish about the runs of a
// program into one model per program.
//
//	runs/<node>/<program> ─> Controller: programs.Model.Merge ─> models/programs/<program> ─> coordinators
//	                                                                     └─> Index ─> API, metrics, what to drop
//
// Only the leader merges. A write is guarded by the revision of the model that it extends; after a conflict the next round
// merges again. Merging twice changes nothing, so a new leader starts with all records of all nodes. A model of an unknown
// version belongs to another release: it stays as it is. That costs performance only.
//
// Rounds and writes per round are limited. Of more than MaxPrograms programs, or MaxBytes bytes, those are dropped that were
// not used for the longest time; programs of running jobs go last.
//
// A program of a namespace that the administrator shares is merged into a model of programs.Shared, which lists its readers.
package runs
