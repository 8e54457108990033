package web

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/tuner/api"
)

// joinGangs marks the entries of pods that are one job. The entry of the pod that reports is that of the job.
func joinGangs(jobs []api.Job) {
	gangs := map[string][]*api.Job{}
	for i := range jobs {
		if name := jobs[i].Sample.Gang; name != "" {
			gangs[name] = append(gangs[name], &jobs[i])
		}
	}
	for _, pods := range gangs {
		if len(pods) < 2 || separate(pods) {
			continue
		}
		lead := slices.MinFunc(pods, func(a, b *api.Job) int {
			silent := func(j *api.Job) int {
				if j.Sample.Reported {
					return 0
				}
				return 1
			}
			return cmp.Or(silent(a)-silent(b), cmp.Compare(a.Sample.Pod.Name, b.Sample.Pod.Name))
		})
		for _, pod := range pods {
			lead.Pods = append(lead.Pods, api.Pod{Pod: pod.Sample.Pod, Node: pod.Sample.Node, GPUs: pod.Sample.GPUs})
			if pod != lead {
				pod.PartOf = lead.Sample.Pod.UID
			}
		}
	}
}

// separate reports whether pods are not one job after all: more processes report than it has.
func separate(pods []*api.Job) bool {
	ranks, worldSize := 0, 0
	for _, pod := range pods {
		ranks += max(1, pod.Sample.Ranks)
		worldSize = max(worldSize, pod.Sample.WorldSize)
	}
	return worldSize > 0 && ranks > worldSize
}
