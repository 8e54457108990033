package node_test

import (
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// cpuRules are the answers to resizes that a transcript has set.
type cpuRules struct {
	quotas map[string]string // the quota that refuses increases, by pod
	inert  map[string]int64  // the weight of the pods whose resizes have no effect
	unseen map[string]string // what another client has written that no informer has delivered, by pod
}

// runCPU runs a command about CPU requests. It reports whether the command is one.
func (s *scenario) runCPU(what string, args []string) bool {
	switch {
	case what == "write":
		s.rules.unseen = nil
		v := values(args[1:])
		pod := s.pods[args[0]]
		request := s.milli(v["cpu"])
		pod.Containers = []node.Container{{Name: "train", Request: request, Allocated: request}}
		pod.ResizedBy = v["by"]
		s.pods[args[0]] = pod
		s.step(node.PodUpdated{Pod: pod})
	case what == "unseen":
		s.rules.unseen = map[string]string{args[0]: strings.Join(args[1:], " ")}
	case what == "quota" && args[1] == "refuses":
		s.rules.quotas = map[string]string{args[2]: args[0]}
	case what == "quota":
		s.rules.quotas = nil
	case what == "kubelet" && args[0] == "ignores":
		s.rules.inert = map[string]int64{args[1]: int64(s.pods[args[1]].Request())}
	case what == "kubelet" && args[0] == "applies":
		s.rules.inert = nil
	case what == "others":
		s.step(node.PodAccounted{Pod: "uid-others", CPU: s.milli(values(args)["cpu"])})
	case what == "exclusive":
		cores := map[growth.PodUID]int{}
		for name, n := range values(args) {
			count, err := strconv.Atoi(n)
			require.NoError(s.t, err)
			cores[uid(name)] = count
		}
		s.step(node.ExclusiveChanged{Cores: cores})
	default:
		return false
	}
	return true
}

// outside sets the requests outside the app containers, and why a pod's request is fixed.
func (s *scenario) outside(pod *node.Pod, v map[string]string) {
	if v["sidecar"] != "" {
		pod.Outside.Sidecars = s.milli(v["sidecar"])
	}
	if v["init"] != "" {
		pod.Outside.Init, pod.Outside.InitContainer = s.milli(v["init"]), "unpack"
	}
	pod.Fixed = strings.ReplaceAll(v["fixed"], "_", " ")
}

// answer plays an API server or a kubelet that does not apply a resize. It reports whether it has answered.
func (s *scenario) answer(r node.Resize) bool {
	name := r.Pod.Name
	if change := s.rules.unseen[name]; change != "" {
		s.step(node.ResizeFinished{Resize: r, Result: node.ResizeConflict, Err: change})
		return true
	}
	if quota := s.rules.quotas[name]; quota != "" && r.To > r.From {
		s.step(node.ResizeFinished{Resize: r, Result: node.ResizeOverQuota, Quota: quota, Err: "exceeded quota: " + quota})
		return true
	}
	return false
}

// weigh returns the weight of a pod's cgroup after a resize, and whether it is the new one.
func (s *scenario) weigh(r node.Resize) (weight int64, verified bool) {
	if weight, inert := s.rules.inert[r.Pod.Name]; inert {
		return weight, int64(r.To) == weight
	}
	return int64(r.To), true
}
