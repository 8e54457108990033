// Package interference predicts how much jobs that share a GPU slow one another down, and how certain that is.
//
// The activity a_j of job j is the fraction of a step in which it does not wait for data, 0..1. Only this fraction is
// stretched by other jobs, and only while they are active:
//
//	slowdown(j | S) = 1 + a_j · c · Σ_{k∈S} a_k
//
//	S    the other jobs on the GPU
//	c    contention, dimensionless: the relative increase of a job's step time due to one fully active job
//
// c = 1 is time slicing between jobs that never wait. c = 0 is a GPU with room for all jobs at once. The standard
// deviation σ of c carries over to the prediction as a_j · σ · Σ a_k, so more jobs make it less certain.
//
// # Prior
//
// Before c is measured, Prior derives it from the eleven pairs of jobs that IADeep published (SC'23, artefact of 2023;
// one corrupt row is omitted). Each entry is the sum of the relative increases of both jobs; half of it is attributed
// to each. The mean is 0.31, the standard deviation between pairs 0.15. All pairs ran on one GPU model, so this is a
// starting point only.
//
// # Measurements
//
// Nodes measure the speeds of sets of jobs. A Learner learns from them, by kinds of jobs: those of one program in one
// namespace. The logarithm of the excess (slowdown − 1) of job i next to job k is
//
//	log c + log a_i + log a_k + sensitivity_i + pressure_k + residual_ik
//
// and the excesses of several other jobs add up, times their number to the power of one learned exponent. All terms have
// prior distributions, so few measurements change little, and a pair or a triple that was never measured is predicted
// from what is known about its kinds. Without any measurement of a kind, its activity decides. Coordinate descent finds
// the posterior distributions; the variances of the terms are re-estimated too.
//
// A pair or set that was measured is predicted from its own measurements, as far as they are more certain than the rest.
// Deviations are scaled so that 80 % intervals contain 80 % of the measurements that are predicted without them.
//
// Speeds come from jobs, which may report false steps. One observation moves what is known about its set by at most
// three standard deviations, observations count by their duration, and a set that does not fit has bounded influence on
// other sets (Huber). Memory is bounded; what is least certain and oldest is dropped.
//
// # Caution
//
// IADeep's own default for combinations without measurements is cheaper than seven of its twelve known pairs, so jobs accumulate
// where nothing is known. Its rule takes Prediction.Cautious here, the mean plus one standard deviation. The policy growth takes the
// mean, which ended jobs earlier.
package interference
