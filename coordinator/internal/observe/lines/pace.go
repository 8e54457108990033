package lines

import "github.com/trellis-gpu/trellis/growth/wire"

// maxReports bounds the reports that are passed on between two polls. Of the further ones only the newest of each rank
// is.
const maxReports = 100

// pace bounds the rate of reports.
type pace struct {
	sink   Sink
	passed int
	newest []paced
}

// paced is a report that has not been passed on.
type paced struct {
	report  wire.Progress
	counted bool
	rank    int
}

// report passes a report on, or keeps it until flush.
func (p *pace) report(report wire.Progress, counted bool) {
	if p.passed < maxReports {
		p.passed++
		p.sink.Report(report, counted)
		return
	}
	next := paced{report, counted, -1}
	if report.Rank != nil {
		next.rank = *report.Rank
	}
	for i, other := range p.newest {
		if other.rank == next.rank {
			p.newest[i] = next
			return
		}
	}
	if len(p.newest) < maxReports {
		p.newest = append(p.newest, next)
	}
}

// flush passes on the reports that were kept.
func (p *pace) flush() {
	for _, kept := range p.newest {
		p.sink.Report(kept.report, kept.counted)
	}
	p.newest = p.newest[:0]
	p.passed = 0
}
