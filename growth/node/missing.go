package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// A job that evaluates its metric every n steps reports other metrics in between. Its metric counts as missing only after
// this many reports without it, and not before this time.
const (
	missingReports = 50
	missingTime    = 2 * time.Minute
)

// missing counts reports that carry metrics, but not the job's own.
type missing struct {
	reports int
	since   time.Time
}

// metricMissing warns once about a job that has never reported its metric.
func (n *Node) metricMissing(j *job, p wire.Progress) {
	if len(p.Metrics) == 0 || j.reported {
		return
	}
	if j.missing.reports == 0 {
		j.missing.since = n.now
	}
	j.missing.reports++
	if j.missing.reports < missingReports || n.now.Sub(j.missing.since) < missingTime {
		return
	}
	names := strings.Join(p.Metrics.Names(), ", ")
	n.event(j, oncePerJob, true, "MetricMissing", fmt.Sprintf("The job reports %s but not %q, which %s names: "+
		"its growth is not known before the first value", names, j.spec.Metric, gpushare.MetricAnnotation))
}
