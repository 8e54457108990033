package gpuhealth

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// Config is how a monitor judges.
type Config struct {
	Policy Policy
	// RecoverAfter is how long a GPU must be fine to be trusted again.
	RecoverAfter time.Duration
	// LossAfter is how long the driver may be silent before its GPUs are given to nobody new.
	LossAfter time.Duration
}

const (
	// longest is the limit up to which repetition doubles the wait.
	longest = time.Hour
	// confirm is how many lists in a row must say so before a GPU is condemned.
	confirm = 2
	// doubtFor is how long a silent driver is asked again soon, and not only in its turn.
	doubtFor = 10 * time.Second
)

// Monitor follows the health of a node's GPUs. It implements gpu.Judge.
type Monitor struct {
	config Config

	mu      sync.Mutex
	devices []gpu.Device // as listed last
	records map[growth.GPU]*record
	silent  time.Time // since when the driver has not answered; zero while it does
}

// record is what is held against one GPU.
type record struct {
	listed bool
	// bad counts the lists in a row that found something wrong; fine is since when none did.
	bad  int
	fine time.Time
	// condemned says what the lists found; it stays for a while after they are fine again. gone says it was absence.
	condemned string
	gone      bool
	// fault is the last that counts, nil for none.
	fault *Fault
}

// Fault is a fault that is held against a GPU.
type Fault struct {
	XID     uint64    `json:"xid"`
	At      time.Time `json:"at"`
	Action  Action    `json:"action"`
	Strikes int       `json:"strikes"` // how many times in a row
}

// New returns a monitor that holds nothing against anybody.
func New(c Config) *Monitor { return &Monitor{config: c, records: map[growth.GPU]*record{}} }

// Listed implements gpu.Judge.
func (m *Monitor) Listed(now time.Time, devices []gpu.Device, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.devices = devices
	if err != nil {
		return m.silence(now, err)
	}
	m.silent = time.Time{}
	doubt := false
	for _, d := range devices {
		r := m.records[d.UUID]
		if r == nil {
			r = &record{}
			m.records[d.UUID] = r
		}
		first := !r.listed
		r.listed = true
		if d.Healthy {
			r.found(now, m.config.RecoverAfter)
			continue
		}
		r.bad++
		r.fine = time.Time{}
		if r.bad >= confirm || first {
			r.condemned = d.Reason
			r.gone = d.Absent
		} else {
			doubt = true
		}
	}
	return doubt
}

// found notes that a list had nothing against a GPU. One that was gone and is back has been reset.
func (r *record) found(now time.Time, recoverAfter time.Duration) {
	r.bad = 0
	if r.fine.IsZero() {
		r.fine = now
	}
	if r.gone {
		r.gone = false
		r.fault = nil
	}
	if now.Sub(r.fine) >= recoverAfter {
		r.condemned = ""
	}
}

// silence notes that the driver did not answer.
func (m *Monitor) silence(now time.Time, err error) bool {
	if m.silent.IsZero() {
		m.silent = now
	}
	if now.Sub(m.silent) >= m.config.LossAfter {
		for _, r := range m.records {
			r.condemned = fmt.Sprintf("the driver has not listed it since %s: %v", m.silent.UTC().Format(time.TimeOnly), err)
			r.fine = time.Time{}
		}
	}
	return now.Sub(m.silent) < doubtFor
}

// Fault takes a fault in and returns what is done about it, and on which devices.
func (m *Monitor) Fault(now time.Time, f gpu.Fault) (Action, []growth.GPU) {
	m.mu.Lock()
	defer m.mu.Unlock()
	action := m.config.Policy.Of(f.XID)
	var hit []growth.GPU
	for _, d := range m.devices {
		if !f.Hits(d) {
			continue
		}
		hit = append(hit, d.UUID)
		if r := m.records[d.UUID]; action != Ignore {
			r.fault = worse(r.fault, Fault{
				XID:     f.XID,
				At:      now,
				Action:  action,
				Strikes: 1,
			}, longest)
		}
	}
	return action, hit
}

// worse adds a fault to the one before it. What only a reset mends stays the reason.
func worse(old *Fault, f Fault, forget time.Duration) *Fault {
	if old == nil || f.At.Sub(old.At) > 2*forget {
		return &f
	}
	f.Strikes = old.Strikes + 1
	if old.Action == UntilReset {
		f.XID = old.XID
		f.Action = UntilReset
	}
	return &f
}

// Judged implements gpu.Judge.
func (m *Monitor) Judged(now time.Time, devices []gpu.Device) []gpu.Device {
	m.mu.Lock()
	defer m.mu.Unlock()
	judged := slices.Clone(devices)
	for i, d := range judged {
		if r, ok := m.records[d.UUID]; ok {
			reason := r.verdict(now, m.config.RecoverAfter)
			judged[i].Healthy = reason == ""
			judged[i].Reason = reason
			judged[i].Absent = d.Absent && reason != ""
		}
	}
	return judged
}

// verdict says what is held against a GPU now, or nothing.
func (r *record) verdict(now time.Time, recoverAfter time.Duration) string {
	if f := r.fault; f != nil {
		wait := f.wait(recoverAfter)
		switch {
		case f.Action == UntilReset:
			return fmt.Sprintf("XID %d at %s: it needs a reset", f.XID, f.At.UTC().Format(time.DateTime))
		case now.Sub(f.At) < wait:
			return fmt.Sprintf("XID %d at %s: not used before it has been quiet for %s", f.XID, f.At.UTC().Format(time.DateTime), wait)
		}
	}
	return r.condemned
}

// wait is how long a GPU must be quiet after a fault: twice as long each time.
func (f Fault) wait(first time.Duration) time.Duration {
	wait := first
	for range f.Strikes - 1 {
		wait = 2 * wait
		if wait >= longest {
			return longest
		}
	}
	return wait
}

// Faults returns what is held against GPUs because of faults, for keeping.
func (m *Monitor) Faults() map[growth.GPU]Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := map[growth.GPU]Fault{}
	for uuid, r := range m.records {
		if r.fault != nil {
			held[uuid] = *r.fault
		}
	}
	return held
}

// Remember takes up what an earlier process held against GPUs.
func (m *Monitor) Remember(held map[growth.GPU]Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uuid, f := range held {
		if m.records[uuid] == nil {
			m.records[uuid] = &record{}
		}
		m.records[uuid].fault = &f
	}
}
