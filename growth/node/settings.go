package node

import (
	"cmp"
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// settings are what the processes of a job report about their settings. Numbers of workers and batch sizes are per
// process. A config counts as applied once each process that uses the settings has acknowledged it.
type settings struct {
	all map[processKey]*setting
}

// setting is the state of one process. A process that has never fetched its settings does not use them.
type setting struct {
	values    wire.Values
	rank      int
	compares  bool  // it has reported gradients
	local     int   // local rank; 0 if unknown
	worldSize int   // world size; 0 if unknown
	acked     int64 // generation of the last acknowledged config
	gpuMemory growth.MiB
}

// add updates a process from its progress report.
func (s *settings) add(e ProgressReported) {
	m := s.process(keyOf(e))
	if m == nil {
		return
	}
	m.use(wire.Values{Loaders: e.Progress.Loaders, BatchSize: e.Progress.BatchSize})
	m.rank = rankOf(e.Progress.Process)
	m.compares = m.compares || e.Progress.Gradients != nil
	m.worldSize = e.Progress.WorldSize
	m.gpuMemory = max(m.gpuMemory, e.Progress.GPUMemory)
	if e.Progress.LocalRank != nil {
		m.local = *e.Progress.LocalRank
	}
}

// process returns the state of a process, which may be new. It returns nil if there are too many.
func (s *settings) process(key processKey) *setting {
	m := s.all[key]
	if m != nil || len(s.all) >= maxProcesses {
		return m
	}
	if s.all == nil {
		s.all = map[processKey]*setting{}
	}
	m = &setting{}
	s.all[key] = m
	return m
}

func (m *setting) use(v wire.Values) {
	m.values.Loaders = cmp.Or(v.Loaders, m.values.Loaders)
	m.values.BatchSize = cmp.Or(v.BatchSize, m.values.BatchSize)
}

// ack adds an acknowledgement. It reports whether all processes that use the settings have acknowledged the config.
func (s *settings) ack(e ConfigAcked) bool {
	if m := s.process(processKeyOf(e.Slot, e.Connection, e.Ack.Process)); m != nil {
		m.acked = max(m.acked, e.Ack.Generation)
		m.use(e.Ack.Applied)
	}
	return !s.pending(e.Ack.Generation)
}

// pending reports whether a process that uses the settings has not acknowledged a generation.
func (s *settings) pending(generation int64) bool {
	for _, m := range s.all {
		if m.values != (wire.Values{}) && m.acked < generation {
			return true
		}
	}
	return false
}

func (s *settings) leave(slot string, connection int64) {
	delete(s.all, processKey{slot: slot, connection: connection})
}

// running returns the present settings of the job. While the processes apply a config one after the other, the settings
// stay those before it. If processes differ for another reason, the largest value counts.
func (s *settings) running(before wire.Values, sent int64) wire.Values {
	pending := s.pending(sent)
	return wire.Values{
		Loaders:   s.common(pending, before.Loaders, func(v wire.Values) *int { return v.Loaders }),
		BatchSize: s.common(pending, before.BatchSize, func(v wire.Values) *int { return v.BatchSize }),
	}
}

func (s *settings) common(pending bool, before *int, of func(wire.Values) *int) *int {
	var largest *int
	differ := false
	for _, m := range s.all {
		value := of(m.values)
		if value == nil {
			continue
		}
		if largest != nil && *value != *largest {
			differ = true
		}
		if largest == nil || *value > *largest {
			largest = value
		}
	}
	if largest == nil {
		return before
	}
	if differ && pending && before != nil {
		return before
	}
	return largest
}

// processes returns the number of processes on this node, as far as they report.
func (s *settings) processes() int {
	n := max(1, len(s.all))
	for _, m := range s.all {
		n = max(n, min(m.local+1, maxProcesses))
	}
	return n
}

// worldSize returns the number of processes of the whole job.
func (s *settings) worldSize() int {
	n := s.processes()
	for _, m := range s.all {
		n = max(n, m.worldSize)
	}
	return n
}

// perProcess says how a value adds up for a job with several processes.
func (s *settings) perProcess(value int) string {
	if s.worldSize() == 1 {
		return ""
	}
	return fmt.Sprintf(" in each of the job's %d processes, %d in total", s.worldSize(), value*s.worldSize())
}

// several returns a number of processes for a sample, which omits it for a job with one process.
func several(processes int) int {
	if processes == 1 {
		return 0
	}
	return processes
}
