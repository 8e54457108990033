// Package save follows one request to a job to save a checkpoint. Request is a pure state machine: it collects the answers of
// the job's processes, and has the outcome once all of them have answered, or at its deadline.
//
// A job has saved if at least one of its processes has, and none has failed. The checkpoint is that of the lowest rank that
// saved. Processes that have nothing to save, as all ranks but the first in most programs, count as answered.
//
// Of a job that saves by a signal, Watch decides when its file is complete.
//
// A job on several nodes has a Request on each, for its ranks there. Their outcomes are Parts, and Whole combines them.
package save
