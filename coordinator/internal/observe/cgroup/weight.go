package cgroup

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const minShares, maxShares = 2, 262144

// SharesOf returns the cpu.shares that kubelet writes for a request on cgroup v1, by kubelet's formula.
func SharesOf(request growth.MilliCPU) int64 {
	return min(max(int64(request)*1024/1000, minShares), maxShares)
}

// WeightOf returns the cpu.weight that kubelet writes for a pod's request on cgroup v2, by kubelet's formula: 1 per
// 26m. The formula is coarse: a request of one core is a weight of 39, and the minimum is 1. So nine jobs with the minimum
// weight together get about a fifth of what that job gets.
func WeightOf(request growth.MilliCPU) int64 {
	return 1 + (SharesOf(request)-minShares)*9999/(maxShares-minShares)
}

// LogWeightOf returns the cpu.weight by the newer formula, a quadratic function of logarithms: one core is a weight of
// 100. runc writes it since 1.3.2 and crun since 1.23, for the containers of a pod. A newer kubelet may use it for pods.
func LogWeightOf(request growth.MilliCPU) int64 {
	shares := SharesOf(request)
	switch shares {
	case minShares:
		return 1
	case maxShares:
		return 10000
	}
	l := math.Log2(float64(shares))
	return int64(math.Ceil(math.Pow(10, (l*l+125*l)/612-7./34)))
}

// Applied reports whether a weight shows that kubelet has applied a resize, given the weight before. On cgroup v1 there is
// one formula. On version 2 the formula that explains the weight before decides. If none does, any new weight counts: it
// is the result of a formula that this package does not know.
func Applied(version int, before, now int64, from, to growth.MilliCPU) bool {
	if version == 1 {
		return now == SharesOf(to)
	}
	linear, log := WeightOf(from) == before, LogWeightOf(from) == before
	switch {
	case linear && now == WeightOf(to), log && now == LogWeightOf(to):
		return true
	case linear || log:
		return false
	}
	return now != before || now == WeightOf(to) || now == LogWeightOf(to)
}
