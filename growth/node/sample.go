package node

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Sample returns a job's sample for the bus. ok is false if the job has ended.
func (n *Node) Sample(uid growth.PodUID) (s bus.Sample, ok bool, err error) {
	j := n.jobs[uid]
	if j == nil {
		return bus.Sample{}, false, nil
	}
	s = n.sample(j)
	s.State, err = n.encodedState(j)
	return s, err == nil, err
}

// Growth returns the growth and the category that a job's sample has, without making the sample. ok is false if the job has ended.
func (n *Node) Growth(uid growth.PodUID) (g growth.Growth, category growth.Category, ok bool) {
	j := n.jobs[uid]
	if j == nil {
		return 0, "", false
	}
	return j.reading.Growth, j.category, true
}

// encodedState returns the private state of a job. A step needs it twice, for the bus and for Memory.
func (n *Node) encodedState(j *job) (json.RawMessage, error) {
	if j.encodedIn == n.steps {
		return j.encoded, nil
	}
	state, err := json.Marshal(n.jobState(j))
	if err != nil {
		return nil, fmt.Errorf("encoding the state of %s: %w", j.pod.Ref, err)
	}
	j.encoded, j.encodedIn = state, n.steps
	return state, nil
}

// stepsDone returns the steps since the job's start, if it numbers its steps per epoch.
func (j *job) stepsDone() int64 {
	if j.counter.earlier == 0 {
		return 0
	}
	return j.counter.steps
}

func (n *Node) sample(j *job) bus.Sample {
	s := bus.Sample{
		Pod:              j.pod.Ref,
		GPUs:             n.gpus(j.pod.Ref.UID),
		Step:             j.latest.Step,
		Epoch:            j.latest.Epoch,
		TotalSteps:       j.latest.TotalSteps,
		Done:             j.stepsDone(),
		Metric:           j.spec.Metric,
		Value:            j.value,
		Reported:         j.reported,
		Growth:           j.reading.Growth,
		Category:         j.category,
		CPUUsed:          j.used,
		Share:            j.share,
		CPURequest:       j.pod.Total(j.pod.Allocated()),
		Weight:           j.usage.Weight,
		MemoryUsed:       j.usage.Memory,
		BlockIO:          j.traffic.block,
		NetworkIO:        j.traffic.network,
		Pressure:         j.traffic.pressure,
		SamplesPerSecond: j.rates.samples,
		StepSeconds:      j.rates.step,
		LoadSeconds:      j.rates.load,
		BatchSize:        j.running.BatchSize,
		Loaders:          j.running.Loaders,
		ExclusiveCores:   n.exclusive[j.pod.Ref.UID],
		Ranks:            several(j.settings.processes()),
		WorldSize:        several(j.settings.worldSize()),
		Gang:             j.spanning(),
		Generation:       j.sent,
		Applied:          j.applied,
		ETA:              n.publishedETA(j),
		Usable:           j.usable,
		Paused:           j.identity().pause.published(),
		Checkpoint:       j.save.last,
		Deadline:         n.deadlineStatus(j),
	}
	s.GPUMemory = j.gpuMemoryPeak()
	s.SharedMemory = j.sharedMemory()
	s.Elastic = j.elasticRange()
	if len(j.profile.use.Blocks) > 0 {
		use := j.profile.use
		s.Profile = &use
	}
	if j.profile.model != (peaks.Model{}) {
		model := j.profile.model
		s.Model = &model
	}
	s.Batch = j.batchSample()
	if j.dutyEnded {
		s.Duty = new(growth.Share(1))
	}
	s.GPUTime = n.gpuSample(j)
	s.Kind = j.leader().published()
	s.Program = j.programID()
	for _, knob := range j.spec.Tune {
		if knob != gpushare.TuneCPU || j.tunable() {
			s.Tunable = append(s.Tunable, string(knob))
		}
	}
	return s
}

func (n *Node) jobState(j *job) jobState {
	history := j.tracker.State()
	work := workState{
		Start: j.cost.start(),
		Curve: &remaining.Curve{First: j.curve.First, Points: slices.Clone(j.curve.Points)},
	}
	work.StepCost, work.StepSpread = j.cost.perStep()
	uid := j.pod.Ref.UID
	if account, ok := n.fair.Accounts[uid]; ok {
		work.Fair = &fairfinish.State{At: n.fair.At, Accounts: map[growth.PodUID]fairfinish.Account{uid: account}}
	}
	work.GPU = n.gpuState(j)
	state := jobState{Version: stateVersion, History: &history, Work: &work, Lifetime: j.lifetime.state()}
	if j.spec.Allows(gpushare.TuneBatchSize) {
		tried := j.trial
		state.Trial = &tried
	}
	return state
}
