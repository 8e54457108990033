// Package interference measures how well growth/interference predicts the slowdowns of sets of jobs that it has not
// seen.
//
//	measured    jobs of benchmarks/jobs on the core of an emulated GPU, recorded by speeds.py: every pair and triple is
//	            predicted from all other sets
//	published   the pairs of IADeep: every pair is predicted from the others
//	synthetic   mixes drawn from a seed, in which some pairs and triples are measured and the others predicted
//
// Only the synthetic mixes have a truth without noise. Elsewhere a prediction is compared with a measurement.
package interference
