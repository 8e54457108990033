package gpuhealth

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// Config configures a Monitor.
type Config struct {
	Policy Policy
	// RecoverAfter is how long a GPU must be free of faults and readable before it is healthy again.
	RecoverAfter time.Duration
	// LossAfter is the time without a successful list after which all GPUs become unhealthy.
	LossAfter time.Duration
}

const (
	// maxQuietPeriod is the upper limit of Fault.quietPeriod.
	maxQuietPeriod = time.Hour
	// confirmations is the number of consecutive listings in which a GPU must be absent or unreadable before it becomes
	// unhealthy.
	confirmations = 2
	// recheckPeriod is the time for which a failing driver is queried at the short interval.
	recheckPeriod = 10 * time.Second
)

// Monitor tracks the health of a node's GPUs. It implements gpu.HealthCheck.
type Monitor struct {
	config Config

	mu           sync.Mutex
	devices      []gpu.Device // from the last listing
	records      map[growth.GPU]*record
	failingSince time.Time // start of the driver's failure; zero while it answers
}

// New returns a Monitor that has observed nothing.
func New(c Config) *Monitor { return &Monitor{config: c, records: map[growth.GPU]*record{}} }

// Observe implements gpu.HealthCheck.
func (m *Monitor) Observe(now time.Time, devices []gpu.Device, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.devices = devices
	if err != nil {
		return m.observeFailure(now, err)
	}
	m.failingSince = time.Time{}
	recheck := false
	for _, d := range devices {
		r := m.records[d.UUID]
		if r == nil {
			r = &record{}
			m.records[d.UUID] = r
		}
		first := !r.listed
		r.listed = true
		if d.Healthy {
			r.observeHealthy(now, m.config.RecoverAfter)
			continue
		}
		r.failures++
		r.healthySince = time.Time{}
		if r.failures >= confirmations || first {
			r.reason = d.Reason
			r.absent = d.Absent
		} else {
			recheck = true
		}
	}
	return recheck
}

// observeFailure records a failed list. It returns true if the list should be repeated soon.
func (m *Monitor) observeFailure(now time.Time, err error) bool {
	if m.failingSince.IsZero() {
		m.failingSince = now
	}
	if now.Sub(m.failingSince) >= m.config.LossAfter {
		for _, r := range m.records {
			r.reason = fmt.Sprintf("the driver has not listed it since %s: %v",
				m.failingSince.UTC().Format(time.TimeOnly), err)
			r.healthySince = time.Time{}
		}
	}
	return now.Sub(m.failingSince) < recheckPeriod
}

// RecordFault records a fault and returns the policy's action and the affected devices.
func (m *Monitor) RecordFault(now time.Time, f gpu.Fault) (Action, []growth.GPU) {
	m.mu.Lock()
	defer m.mu.Unlock()
	action := m.config.Policy.Of(f.XID)
	var affected []growth.GPU
	for _, d := range m.devices {
		if !f.Affects(d) {
			continue
		}
		affected = append(affected, d.UUID)
		if r := m.records[d.UUID]; action != Ignore {
			r.fault = mergeFaults(r.fault, Fault{
				XID:     f.XID,
				At:      now,
				Action:  action,
				Strikes: 1,
			}, maxQuietPeriod)
		}
	}
	return action, affected
}

// Apply implements gpu.HealthCheck.
func (m *Monitor) Apply(now time.Time, devices []gpu.Device) []gpu.Device {
	m.mu.Lock()
	defer m.mu.Unlock()
	result := slices.Clone(devices)
	for i, d := range result {
		if r, ok := m.records[d.UUID]; ok {
			reason := r.unhealthyReason(now, m.config.RecoverAfter)
			result[i].Healthy = reason == ""
			result[i].Reason = reason
			result[i].Absent = d.Absent && reason != ""
		}
	}
	return result
}

// Faults returns the last fault of each GPU, to be stored.
func (m *Monitor) Faults() map[growth.GPU]Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	faults := map[growth.GPU]Fault{}
	for uuid, r := range m.records {
		if r.fault != nil {
			faults[uuid] = *r.fault
		}
	}
	return faults
}

// Restore adopts the faults stored by an earlier process.
func (m *Monitor) Restore(faults map[growth.GPU]Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uuid, f := range faults {
		if m.records[uuid] == nil {
			m.records[uuid] = &record{}
		}
		m.records[uuid].fault = &f
	}
}
