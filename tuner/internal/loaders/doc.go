// Package loaders remembers how data loaders of programs performed, so that neither an upgrade of the tuner nor the end of a job loses
// what was measured.
//
//	history.Snapshot ─> Memory: the newest measurements of each program ─> models/loaders
//	                       └─> Before ─> package advise: the model of a job starts from those
//
// A job's own measurements are newer, so they count for more, and after about ten of them for nearly all: another node may have faster
// cores. Only the leader runs a Memory. Without the record on the bus each job starts from the published regression.
package loaders
