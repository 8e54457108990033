// Package mpsthreads decides which percentage of a GPU's threads a client of NVIDIA's MPS may use.
//
//	growth/node ──share of a new job──> Record ──file──> device plugin ──Percent──> environment of the container
//	coordinator                     gpu-newcomers.json
//
// # Percentage
//
// It is 100 · 2 · share, rounded up, between Least and 100. share is the part of the GPU's time that the policy is expected to give a
// job of unknown size that arrives now; it is 1 on a GPU without jobs.
//
// The factor 2 is NVIDIA's advice (Multi-Process Service, provisioning: 100 % / 0.5 n for n clients), as clients do not compute all
// the time. A percentage is a limit and reserves nothing: with its share alone a job would get less than its share next to a job
// without a limit. Two jobs of equal shares are not limited.
//
// # Afterwards
//
// The percentage is fixed when a container is created: CUDA reads it when a process connects, and kubelet gives a container that is
// restarted the same environment. Shares change all the time. A job that outlives the others keeps its limit, so Least bounds
// what it loses. Turns and sets (growth/turn, growth/corun) follow the share; a job that holds the turn alone is limited too. That is why
// the percentage follows the share only where an operator wants it.
package mpsthreads
