// Package storm submits bursts of pods to real kubelets, kills kubelets and device plugins meanwhile, and checks that every
// container got the GPU that was recorded for it.
//
// Plan draws a round from a seed: pods of equal or mixed sizes, in bursts. The last few, the standing pods, run
// until the round lets them end.
// For each node it draws one kill -9 of kubelet and one of the device plugin. Storm runs the rounds on a local
// cluster.
//
// Four independent sources are compared:
//
//	the container     its environment, and the machine's uptime at its start and end, in its termination message
//	kubelet           its checkpoint file, polled, and its PodResources API
//	the API server    the pod: how it ended, and the annotation gpushare/gpu
//	the device plugin its allocations on the bus, watched, and its slots on disk
//
// Judge finds the faults of a whole round, Drift those of a moment at which no pod changes. Both are pure functions. A
// container has the wrong GPU if the sources differ. A GPU is over-committed if containers that ran at the same time, by the
// times that they reported, had more memory than the GPU has. A pod is lost if it did not succeed, for any reason.
package storm
