package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// LostAfter is the time without a sample after which a job has ended. It is longer than a restart of the coordinator plus the expiry of
// its lease: the sample of a job goes with its coordinator, and comes back with the next one.
const LostAfter = time.Minute

// Snapshot is the state of the bus at one instant.
type Snapshot struct {
	// Synced is false until the bus has been read once.
	Synced bool
	// Err is set while the bus is unavailable. UnavailableSince is the start of that time.
	Err              error
	UnavailableSince time.Time
	// Undecodable has the errors of records that could not be decoded, by key.
	Undecodable map[string]error
	// Nodes are sorted by name, Jobs by namespace and name.
	Nodes []Node
	Jobs  []Job
	// Revision is that of Nodes.
	Revision bus.Revision
	// Interference is the model of interference; nil if there is none. InterferenceRevision is the revision of its record.
	Interference         *bus.Interference
	InterferenceRevision bus.Revision
	// Peaks has what is known about the peaks of jobs; nil if nothing is. PeaksRevision is the revision of its record.
	Peaks         *bus.Peaks
	PeaksRevision bus.Revision
	// Loaders has what is known about the data loaders of programs; nil if nothing is. LoadersRevision is the revision of its record.
	Loaders         *bus.Loaders
	LoadersRevision bus.Revision
}

// Node is a node with its records.
type Node struct {
	Name growth.NodeName
	GPUs *bus.NodeGPUs
	Load *bus.NodeLoad
	// Speeds is nil if no speeds were measured. SpeedsRevision is the revision of the record.
	Speeds         *bus.Speeds
	SpeedsRevision bus.Revision
}

// Job is a job with its records.
type Job struct {
	UID growth.PodUID
	// Sample is nil after the job has ended, or if its coordinator is down.
	Sample *bus.Sample
	// Advice is nil if there is none. AdviceRevision is the revision of its record on the bus.
	Advice         *bus.Advice
	AdviceRevision bus.Revision
	// Measurements are the job's last measurements, newest last.
	Measurements []loader.Measurement
	// SharedMemory is nil if its size or use is unknown.
	SharedMemory *loader.SharedMemory
	// RebuildTime is the time that the job's last change of its loaders has cost it; nil if none was measured.
	RebuildTime *growth.Seconds
}

// newSnapshot combines the views with the histories.
func newSnapshot(nodes, jobs, interference, peaks, loaders *bus.View[*entry], histories map[growth.PodUID]jobHistory) *Snapshot {
	s := &Snapshot{Synced: true, Revision: nodes.Revision, Undecodable: map[string]error{}}
	for _, view := range []*bus.View[*entry]{nodes, jobs, interference, peaks, loaders} {
		s.Synced = s.Synced && view.Synced
		s.Err = cmp.Or(s.Err, view.Err)
		maps.Copy(s.Undecodable, view.Undecodable)
	}
	if e := interference.Values[bus.ModelKey(bus.InterferenceModel)]; e != nil {
		s.Interference = e.model
		s.InterferenceRevision = e.revision
	}
	if e := peaks.Values[bus.ModelKey(bus.PeaksModel)]; e != nil {
		s.Peaks = e.peaks
		s.PeaksRevision = e.revision
	}
	if e := loaders.Values[bus.ModelKey(bus.LoadersModel)]; e != nil {
		s.Loaders = e.loaders
		s.LoadersRevision = e.revision
	}
	s.Nodes = collectNodes(nodes)
	s.Jobs = collectJobs(jobs, histories)
	return s
}

func collectNodes(view *bus.View[*entry]) []Node {
	byName := map[growth.NodeName]Node{}
	for _, e := range view.Values {
		if e.gpus == nil && e.load == nil && e.speeds == nil {
			continue
		}
		n := byName[e.key.Node]
		n.Name = e.key.Node
		n.GPUs = cmp.Or(e.gpus, n.GPUs)
		n.Load = cmp.Or(e.load, n.Load)
		if e.speeds != nil {
			n.Speeds = e.speeds
			n.SpeedsRevision = e.revision
		}
		byName[n.Name] = n
	}
	nodes := make([]Node, 0, len(byName))
	for _, n := range byName {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}

func collectJobs(view *bus.View[*entry], histories map[growth.PodUID]jobHistory) []Job {
	byUID := map[growth.PodUID]*Job{}
	for _, e := range view.Values {
		j := byUID[e.key.Pod]
		if j == nil {
			j = &Job{UID: e.key.Pod}
			byUID[j.UID] = j
		}
		j.Sample = cmp.Or(e.sample, j.Sample)
		if e.advice != nil {
			j.Advice = e.advice
			j.AdviceRevision = e.revision
		}
	}
	jobs := make([]Job, 0, len(byUID))
	for _, j := range slices.SortedFunc(maps.Values(byUID), (*Job).compare) {
		history := histories[j.UID]
		j.Measurements = history.measurements
		j.SharedMemory = history.shared.state(j.Sample)
		j.RebuildTime = history.rebuild.cost
		jobs = append(jobs, *j)
	}
	return jobs
}

// Programs returns the programs of the running jobs.
func (s *Snapshot) Programs() map[programs.ID]bool {
	all := map[programs.ID]bool{}
	for _, j := range s.Jobs {
		if j.Sample != nil && j.Sample.Program != (programs.ID{}) {
			all[j.Sample.Program] = true
		}
	}
	return all
}

// compare orders jobs by namespace, name and UID, those without a sample last.
func (j *Job) compare(other *Job) int {
	switch {
	case j.Sample == nil && other.Sample == nil:
		return cmp.Compare(j.UID, other.UID)
	case j.Sample == nil:
		return 1
	case other.Sample == nil:
		return -1
	}
	a, b := j.Sample.Pod, other.Sample.Pod
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(j.UID, other.UID))
}
