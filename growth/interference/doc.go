// Package interference predicts how much jobs that share a GPU slow one another down, and how sure that is.
//
// The part of a step in which job j does not wait for data is its activity a_j in 0..1. Only that part is stretched by
// neighbours, and only while they are active themselves:
//
//	slowdown(j | S) = 1 + a_j · c · Σ_{k∈S} a_k
//
// c is the contention: what one fully active job adds to the step time of another. c = 1 is time slicing between jobs
// that never wait, c = 0 a GPU with room for both at once. It is known with a deviation σ, which carries over to the
// prediction as a_j · σ · Σ a_k: the more neighbours there are, the less is known about them together.
//
// # Prior
//
// Until c has been measured, Prior takes it from the pairs of jobs that IADeep published (SC'23, artefact of 2023). Each of
// the eleven, with the one corrupt row left out, gives the sum of both jobs' relative increase; half of it is one job's:
// 0.31 on the mean, with a standard deviation of 0.15 between pairs. These are pairs on one model of GPU: a start, and no
// more than that.
//
// # Caution
//
// Whoever chooses by predictions should choose by Prediction.Cautious, the mean plus one deviation. What has not been
// measured then costs more than what has been measured to be average; IADeep's own fallback for unseen sets of jobs is
// cheaper than seven of its twelve known pairs, so that jobs pile up where nothing is known.
package interference
