package resources

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// Pods is the number of pods of each job of several, by its gang.
type Pods map[string]int

// PodsOf counts the pods of a snapshot.
func PodsOf(s *history.Snapshot) Pods {
	pods := Pods{}
	for _, j := range s.Jobs {
		if j.Sample != nil && j.Sample.Gang != "" {
			pods[j.Sample.Gang]++
		}
	}
	return pods
}

// Workers returns the number of pods of a job: as many as have all processes that it names. It is unknown, and 0, if more pods run. Their
// processes name no world size, or they are several jobs of one owner.
func (p Pods) Workers(s bus.Sample) int {
	workers := min(max(1, s.WorldSize/max(1, s.Ranks)), elastic.MaxWorkers)
	if s.Gang != "" && p[s.Gang] > workers {
		return 0
	}
	return workers
}

// width returns the throughput of the whole job. Package elastic ignores that of an unknown number of workers.
func (p Pods) width(s bus.Sample) elastic.Measured {
	workers := p.Workers(s)
	return elastic.Measured{Workers: workers, Rate: s.SamplesPerSecond * growth.PerSecond(workers)}
}
