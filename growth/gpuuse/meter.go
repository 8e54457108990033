package gpuuse

import (
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// longestPeriod bounds the time that one sample describes. The driver's sampling period is between 1/6 s and 1 s.
const longestPeriod growth.Seconds = 1

// Sample is one utilization sample of a process on a GPU.
type Sample struct {
	PID int
	// At is the driver's time of the sample, in microseconds.
	At uint64
	// Percent is the part of the sampling period in which a kernel of the process was running, 0 to 100.
	Percent int
}

// Meter adds up the samples of one GPU. It is not safe for concurrent use.
type Meter struct {
	last map[int]uint64 // time of the last sample by process
	busy map[growth.PodUID]growth.Seconds
}

// Since returns the time of the newest sample, from which the next ones are read.
func (m *Meter) Since() (newest uint64) {
	for _, at := range m.last {
		newest = max(newest, at)
	}
	return newest
}

// Add adds the samples of the last elapsed seconds. Processes outside pods are ignored. All pods together are charged at
// most the time that has passed: under MPS the percentages of several processes may add up to more than 100.
func (m *Meter) Add(samples []Sample, elapsed growth.Seconds, podOf func(pid int) (growth.PodUID, bool)) {
	if m.busy == nil {
		m.last, m.busy = map[int]uint64{}, map[growth.PodUID]growth.Seconds{}
	}
	since := m.Since()
	added := map[growth.PodUID]growth.Seconds{}
	total := growth.Seconds(0)
	for _, s := range inOrder(samples) {
		period := m.period(s, since)
		m.last[s.PID] = max(m.last[s.PID], s.At)
		pod, ok := podOf(s.PID)
		if !ok || s.Percent <= 0 || s.Percent > 100 { // some drivers report large numbers for processes that have ended
			continue
		}
		busy := period * growth.Seconds(s.Percent) / 100
		added[pod] += busy
		total += busy
	}
	m.forget()
	for pod, busy := range added {
		m.busy[pod] += busy * min(1, max(0, elapsed)/max(total, 1e-9))
	}
}

// period returns the time that a sample describes. A process without a sample in a period was idle in it.
func (m *Meter) period(s Sample, since uint64) growth.Seconds {
	last, known := m.last[s.PID]
	if !known {
		last = since
	}
	if s.At <= last {
		return 0 // counted before
	}
	return min(growth.Seconds(float64(s.At-last)/1e6), longestPeriod)
}

// forget removes processes without a sample in a minute, but keeps the newest.
func (m *Meter) forget() {
	const minute = 60_000_000
	newest := m.Since()
	maps.DeleteFunc(m.last, func(_ int, at uint64) bool { return newest-at > minute })
}

// Keep forgets the use of pods that no longer exist.
func (m *Meter) Keep(exists func(growth.PodUID) bool) {
	maps.DeleteFunc(m.busy, func(pod growth.PodUID, _ growth.Seconds) bool { return !exists(pod) })
}

// Busy returns the time of each pod, in the order of the UIDs.
func (m *Meter) Busy() []Use {
	uses := make([]Use, 0, len(m.busy))
	for _, pod := range slices.Sorted(maps.Keys(m.busy)) {
		uses = append(uses, Use{Pod: pod, Busy: m.busy[pod]})
	}
	return uses
}

func inOrder(samples []Sample) []Sample {
	sorted := slices.Clone(samples)
	slices.SortStableFunc(sorted, func(a, b Sample) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return a.PID - b.PID
	})
	return sorted
}
