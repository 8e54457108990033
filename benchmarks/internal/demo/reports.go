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
	// mostLog is how much is read of a job's log, in bytes.
	mostLog = 4 << 20
	// wholeFrom is the part of its steps by which a job's log must begin to be the whole of it: one that was moved goes on
	// where it was.
	wholeFrom = 0.05
)

// reportLine is what an example job prints, behind the time that kubelet puts there.
var reportLine = regexp.MustCompile(`^(\S+) step=(\d+) loss=(\S+)`)

// reports are what each job has printed of its loss: every report, where a look at the cluster each second sees some.
func (r *Run) reports(ctx context.Context) map[string][]timeline.Report {
	all := make(map[string][]timeline.Report, len(r.Jobs))
	for _, j := range r.Jobs {
		limit := int64(mostLog)
		options := &corev1.PodLogOptions{Timestamps: true, LimitBytes: &limit}
		log, err := r.Cluster.Kubernetes.CoreV1().Pods(r.Setup.Namespace).GetLogs(j.Name, options).Stream(ctx)
		if err != nil {
			r.Folder.Log.Warn("a job's log can not be read: when its metric was good is known by looks alone", "job", j.Name, "err", err)
			continue
		}
		reports, err := readReports(log)
		_ = log.Close()
		if err != nil {
			r.Folder.Log.Warn("a job's log can not be read to its end", "job", j.Name, "err", err)
			continue
		}
		if len(reports) > 0 && float64(reports[0].Step) <= wholeFrom*float64(j.Steps) {
			all[j.Name] = reports
		}
	}
	return all
}

// readReports reads a log with times. Lines that are no report are left out.
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
