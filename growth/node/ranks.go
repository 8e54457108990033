package node

import (
	"cmp"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const (
	// maxProcesses bounds the processes that are tracked for one job.
	maxProcesses = 256
	// unranked is the rank of a process that does not name its rank. It is higher than all ranks.
	unranked = wire.MaxRanks
	// quietTime and quietReports are how long, and how many reports of others, the leading process may lack before
	// another process leads, or before an earlier step counts as a restart.
	quietTime    = 30 * time.Second
	quietReports = 3
)

// processes decides which reports move the curve of a job with several processes. A job has one curve: that of its lead,
// the process with the lowest rank. Processes without a rank are equal, and whichever has made the most steps moves the
// curve.
//
// A step never goes backwards because of another process. The job has restarted if
//   - its lead names a lower step than before, or
//   - each of its processes names a lower step than before, or is new, or
//   - no process has reached the furthest step for quietTime.
type processes struct {
	all  map[processKey]*process
	lead int // rank
	// several is set once the job has had two processes at the same time. A job with one process always moves.
	several bool
	// startsAgain is set if the container has been restarted, so that the next report may name any step.
	startsAgain bool

	mover  *process
	moved  time.Time // time of the last report that has moved the curve
	behind time.Time // time of the first report since a process was at the furthest step; zero if there is none
	late   int       // number of reports since then
}

// processKey identifies a process by its connection. Processes that share a log differ in their ranks.
type processKey struct {
	slot       string
	connection int64
	rank       int
}

// process is the state of one process.
type process struct {
	rank      int
	worldSize int // world size; 0 if unknown
	at        position
	seen      time.Time
	back      bool // has gone backwards, or started again, since the curve last moved
	ahead     int  // number of reports at the furthest step or beyond since the curve last moved
	metric    bool // reports the job's metric
}

// position is a place in a training run. Epochs order steps that are numbered per epoch.
type position struct{ epoch, step int64 }

func positionOf(p wire.Progress) position { return position{p.Epoch, p.Step} }

func (p position) before(q position) bool {
	return cmp.Or(cmp.Compare(p.epoch, q.epoch), cmp.Compare(p.step, q.step)) < 0
}

func keyOf(e ProgressReported) processKey {
	return processKeyOf(e.Slot, e.Connection, e.Progress.Process)
}

func processKeyOf(slot string, connection int64, p wire.Process) processKey {
	key := processKey{slot: slot, connection: connection, rank: rankOf(p)}
	if key.connection != 0 {
		key.rank = 0 // a process may learn its rank late
	}
	return key
}

func rankOf(p wire.Process) int {
	if p.Rank == nil {
		return unranked
	}
	return *p.Rank
}

// follow adds a report and reports whether it moves the job's curve. furthest is the report that has last moved it.
func (r *processes) follow(e ProgressReported, furthest wire.Progress, now time.Time) (moves bool) {
	p, q := e.Progress, positionOf(furthest)
	at := positionOf(p)
	m, first := r.process(keyOf(e), now)
	decreased := !first && at.before(m.at)
	m.rank = rankOf(p.Process)
	m.worldSize = p.WorldSize
	m.at, m.seen = at, now
	shared := e.Source != gpushare.FromSocket && p.Rank == nil
	if r.startsAgain || !r.several && !shared {
		r.startsAgain = false
		r.lead = m.rank
		return r.move(m, now)
	}
	if shared { // by processes that do not name their rank: a lower step is not a restart yet
		lower := p.Step < furthest.Step && p.Epoch <= furthest.Epoch
		return (!lower || r.fallBehind(now)) && r.move(m, now)
	}
	return r.followSeveral(m, q, first, decreased, now)
}

// followSeveral adds a report of one of several processes, which are known by their rank or their connection.
func (r *processes) followSeveral(m *process, q position, first, decreased bool, now time.Time) (moves bool) {
	m.back = m.back || decreased
	if first { // it has started again, unless it has started next to others which go on
		m.back = true
		m.back = r.allBack(q)
	}
	r.elect()
	switch {
	case !m.at.before(q):
		return r.reach(m, m.at == q, now)
	case m.rank > r.lead: // another process has the curve
		return false
	case decreased && m.rank < unranked, r.allBack(q):
		return r.move(m, now)
	}
	return r.fallBehind(now) && r.move(m, now)
}

// process returns the process of a report, which may be new.
func (r *processes) process(key processKey, now time.Time) (m *process, first bool) {
	if m, ok := r.all[key]; ok {
		return m, false
	}
	if r.all == nil {
		r.all = map[processKey]*process{}
		r.lead = unranked
	}
	r.several = r.several || len(r.all) > 0
	if len(r.all) >= maxProcesses {
		r.forgetOldest()
	}
	m = &process{seen: now}
	r.all[key] = m
	return m, true
}

// forgetOldest makes room for a process that is new.
func (r *processes) forgetOldest() {
	var oldest processKey
	found := false
	for key, m := range r.all {
		if !found || m.seen.Before(r.all[oldest].seen) || (m.seen.Equal(r.all[oldest].seen) && key.compare(oldest) < 0) {
			oldest, found = key, true
		}
	}
	delete(r.all, oldest)
}

func (k processKey) compare(other processKey) int {
	return cmp.Or(cmp.Compare(k.slot, other.slot), cmp.Compare(k.connection, other.connection), cmp.Compare(k.rank, other.rank))
}

// leave removes the process of a connection that has ended.
func (r *processes) leave(slot string, connection int64) {
	delete(r.all, processKey{slot: slot, connection: connection})
}

// elect chooses another lead if the lead has ended.
func (r *processes) elect() {
	lowest := unranked
	for _, m := range r.all {
		if m.rank == r.lead {
			return
		}
		lowest = min(lowest, m.rank)
	}
	r.lead = lowest
}

// reach adds a report at the furthest step or beyond, and reports whether it moves the curve.
func (r *processes) reach(m *process, same bool, now time.Time) bool {
	r.behind, r.late = time.Time{}, 0
	m.ahead++
	switch {
	case m.rank < r.lead:
		r.lead = m.rank
	case m.rank > r.lead:
		if m.ahead < quietReports || now.Sub(r.moved) < quietTime {
			return false
		}
		r.lead = m.rank // the lead has stopped to report
	case m.rank == unranked && same && m != r.mover:
		return false // another process has reported this step
	}
	return r.move(m, now)
}

// allBack reports whether each process that may lead has gone back.
func (r *processes) allBack(furthest position) bool {
	for _, m := range r.all {
		if !m.back || !m.at.before(furthest) {
			return false
		}
	}
	return true
}

// fallBehind adds a report behind the furthest step, and reports whether no process has been there for too long.
func (r *processes) fallBehind(now time.Time) bool {
	if r.behind.IsZero() {
		r.behind = now
	}
	r.late++
	return r.late >= quietReports && now.Sub(r.behind) >= quietTime
}

// move lets a process move the curve.
func (r *processes) move(mover *process, now time.Time) bool {
	for _, m := range r.all {
		m.back = false
		if m != mover {
			m.ahead = 0
		}
	}
	r.mover, r.moved = mover, now
	r.behind, r.late = time.Time{}, 0
	return true
}

// speaks reports whether a report that has the job's metric provides its value. Without one, the curve of the lead has
// steps only, and the value is that of the lowest rank that reports it. In pipeline parallelism the last rank alone knows
// the loss.
func (r *processes) speaks(e ProgressReported, moves bool) bool {
	speaker := r.all[keyOf(e)]
	if speaker == nil {
		return moves
	}
	speaker.metric = true
	if moves {
		return true
	}
	for _, m := range r.all {
		if m.metric && m != speaker && m.rank <= speaker.rank {
			return false
		}
	}
	return speaker.rank > r.lead
}

// ranks returns the ranks of processes that are not alone in their job.
func (r *processes) ranks() map[int]bool {
	ranks := map[int]bool{}
	for _, m := range r.all {
		if m.worldSize > 1 && m.rank < unranked {
			ranks[m.rank] = true
		}
	}
	return ranks
}

// lowest returns the lowest rank.
func (r *processes) lowest() int {
	lowest := unranked
	for _, m := range r.all {
		lowest = min(lowest, m.rank)
	}
	return lowest
}

// spanPods reports whether a process names a world size that is larger than its pod.
func (r *processes) spanPods() bool {
	for _, m := range r.all {
		if m.worldSize > len(r.all) {
			return true
		}
	}
	return false
}
