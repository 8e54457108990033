// Package corun decides which jobs hold the turn of a GPU together. Jobs with gaps, between small kernels or while they
// compute on the CPU, are faster together than one after the other.
//
// # Speeds
//
// The speed of a job in a set is its steps per second while all of the set compute, relative to its steps per second alone.
// A Table has what was measured, by kinds of jobs. The speed of a set that was not measured follows from its pairs: each
// other job adds its part to the time of a step,
//
//	1/speed(j | S) = 1 + Σ over k in S of (1/speed(j | k) − 1)
//
// Decisions use the mean minus one standard deviation. The deviation grows with the time since the last measurement, by
// 5 % of the speed in an hour and 10 % in four, and old measurements weigh less in the mean.
//
// # Sets
//
// Let x_i be the share of job i in turns, and s_i its speed in its set. The scheduler charges by speed, so a set needs the time
// of the member that needs most, and all sets together need
//
//	W = Σ over sets of max over members i of x_i / s_i
//
// Job i then has s_i · W_set / W of the time of its GPU, at least x_i / W. Choose merges the two sets that gain most, as long
// as the sum over all jobs grows by Margin and W is at most 1 / (1 − MaxLoss): no job gets less than 95 % of what it would
// get in turns. Plain sharing, the reference for harm, is the set of all jobs. Where it yields more than any choice of sets,
// the jobs take no turns.
package corun
