package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

const (
	// mostLog bounds the bytes read of a job's log.
	mostLog = 4 << 20
	// wholeFrom is the fraction of a job's steps by which a complete log has its first report. The log of a job that
	// moved begins later.
	wholeFrom = 0.05
)

// reportLine matches the line of an example job, after kubelet's timestamp.
var reportLine = regexp.MustCompile(`^(\S+) step=(\d+) loss=(\S+)`)

// reports reads every loss that each job has printed. The readings of each second miss some.
func (r *Run) reports(ctx context.Context) map[string][]timeline.Report {
	all := make(map[string][]timeline.Report, len(r.Jobs))
	for _, j := range r.Jobs {
		limit := int64(mostLog)
		options := &corev1.PodLogOptions{Timestamps: true, LimitBytes: &limit}
		log, err := r.Cluster.Kubernetes.CoreV1().Pods(r.Setup.Namespace).GetLogs(j.Name, options).Stream(ctx)
		if err != nil {
			r.Folder.Log.Warn("cannot read a job's log: its time to target is computed from readings", "job", j.Name, "err", err)
			continue
		}
		reports, err := readReports(log)
		_ = log.Close()
		if err != nil {
			r.Folder.Log.Warn("cannot read a job's log to its end", "job", j.Name, "err", err)
			continue
		}
		if len(reports) > 0 && float64(reports[0].Step) <= wholeFrom*float64(j.Steps) {
			all[j.Name] = reports
		}
	}
	return all
}

// readReports parses a log with timestamps and skips other lines.
func readReports(log io.Reader) (reports []timeline.Report, err error) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		parts := reportLine.FindStringSubmatch(lines.Text())
		if parts == nil {
			continue
		}
		at, errAt := time.Parse(time.RFC3339Nano, parts[1])
		step, errStep := strconv.Atoi(parts[2])
		value, errValue := strconv.ParseFloat(parts[3], 64)
		if errAt == nil && errStep == nil && errValue == nil {
			reports = append(reports, timeline.Report{At: at, Step: step, Value: value})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading a log: %w", err)
	}
	return reports, nil
}
