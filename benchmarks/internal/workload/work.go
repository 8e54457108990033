package workload

import "github.com/trellis-gpu/trellis/growth"

// halfMinute is the time in which a job makes its usual steps, in batches of usualBatch.
const halfMinute growth.Seconds = 30

const usualBatch = 32

// usualSteps extends UsualSteps to all kinds. The numbers of the further models are from the demo's jobs, which are made to take about
// as long as one another.
func usualSteps(kind string) int {
	switch kind {
	case "mlp":
		return 4100
	case "transformer":
		return 1200
	case "guaranteed":
		return UsualSteps("gru")
	case "tqdm":
		return 1500 // it waits for 20 ms in each step
	case "ddp":
		return UsualSteps("cnn") // of each rank
	}
	return UsualSteps(kind)
}

// stepTime is the approximate time of a step on a core, for each rank.
func stepTime(kind string, batch int) growth.Seconds {
	return halfMinute / growth.Seconds(usualSteps(kind)) * growth.Seconds(batch) / usualBatch
}

// Ranks returns the number of processes that train.
func (j Job) Ranks() int {
	switch {
	case j.Kind != "ddp":
		return 1
	case j.GPUs == 0:
		return 2
	}
	return j.GPUs
}

// Work returns the approximate work of the job in core-seconds, on the machine of jobs/README.md.
func (j Job) Work() growth.Work {
	return growth.Work(stepTime(j.Kind, j.Batch)) * growth.Work(j.Steps*j.Ranks())
}
