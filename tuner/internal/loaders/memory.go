package loaders

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/programs"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/learn"
)

// MaxPrograms bounds the remembered programs, so that their record stays below bus.MaxValue. Of those without a running job the one
// that changed first is dropped for another.
const MaxPrograms = 512

// Memory remembers the measurements of programs. It is safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	programs map[programs.ID]remembered
	// before has what was known of a job's program when the job came.
	before map[growth.PodUID][]loader.Measurement
	// count is the number of changes so far.
	count   int64
	changed bool
}

// remembered are the measurements of a program. at is the number of the change that they came with.
type remembered struct {
	measurements []loader.Measurement
	at           int64
}

// NewController returns a controller that keeps a Memory in models/loaders.
func NewController(source learn.Source, writer learn.Writer, m *Memory, log *slog.Logger) *learn.Controller[bus.Loaders, *bus.Loaders] {
	return &learn.Controller[bus.Loaders, *bus.Loaders]{
		Source:  source,
		Writer:  writer,
		Learner: m,
		Log:     log,
		Name:    bus.LoadersModel,
		Of:      func(s *history.Snapshot) (*bus.Loaders, bus.Revision) { return s.Loaders, s.LoadersRevision },
	}
}

// Load replaces what is remembered by a record of the bus; nil for none. Invalid measurements are ignored.
func (m *Memory) Load(record *bus.Loaders) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.programs, m.before = nil, nil
	if record != nil {
		for _, p := range record.Programs[max(0, len(record.Programs)-MaxPrograms):] {
			m.put(p.Program, loader.Remember(p.Measurements), new([]programs.ID))
		}
	}
	m.changed = false
}

// Observe remembers the measurements of running jobs, after those of earlier jobs of their programs.
func (m *Memory) Observe(s *history.Snapshot, _ time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := make(map[growth.PodUID][]loader.Measurement, len(s.Jobs))
	idle := m.idle(s.Programs())
	for _, j := range s.Jobs {
		if j.Sample == nil || j.Sample.Program == (programs.ID{}) {
			continue
		}
		known, seen := m.before[j.UID]
		if !seen {
			known = m.programs[j.Sample.Program].measurements
		}
		before[j.UID] = known
		if len(j.Measurements) > 1 { // the first one is often taken while the job warms up
			m.put(j.Sample.Program, loader.Remember(slices.Concat(known, j.Measurements[1:])), &idle)
		}
	}
	m.before = before
}

// put remembers measurements of a program, unless they say nothing new. Without room the last of the idle ones is forgotten; if there is
// none, the new program is.
func (m *Memory) put(program programs.ID, measurements []loader.Measurement, idle *[]programs.ID) {
	was, known := m.programs[program]
	switch {
	case len(measurements) == 0, known && loader.Alike(was.measurements, measurements):
		return
	case !known && len(m.programs) >= MaxPrograms:
		last := len(*idle) - 1
		if last < 0 {
			return
		}
		delete(m.programs, (*idle)[last])
		*idle = (*idle)[:last]
	case m.programs == nil:
		m.programs = map[programs.ID]remembered{}
	}
	m.count++
	m.programs[program] = remembered{measurements, m.count}
	m.changed = true
}

// idle returns the programs without a running job, those that changed last first.
func (m *Memory) idle(running map[programs.ID]bool) []programs.ID {
	all := m.latestLast()
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(id programs.ID) bool { return running[id] })
}

// latestLast returns the programs in the order of their last changes.
func (m *Memory) latestLast() []programs.ID {
	return slices.SortedFunc(maps.Keys(m.programs), func(a, b programs.ID) int {
		return cmp.Compare(m.programs[a].at, m.programs[b].at)
	})
}

// Before returns the measurements of earlier jobs of a job's program, the newest last.
func (m *Memory) Before(job growth.PodUID, program programs.ID) []loader.Measurement {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, seen := m.before[job]; seen {
		return known
	}
	return m.programs[program].measurements
}

// Record returns the record for the bus, and whether it has changed since Saved.
func (m *Memory) Record() (bus.Loaders, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var record bus.Loaders
	for _, id := range m.latestLast() {
		record.Programs = append(record.Programs, bus.ProgramLoaders{Program: id, Measurements: m.programs[id].measurements})
	}
	return record, m.changed
}

// Saved reports that the last Record is on the bus.
func (m *Memory) Saved() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = false
}
