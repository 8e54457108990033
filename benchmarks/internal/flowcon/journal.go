package flowcon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// Record is one repeat of a schedule under one policy.
type Record struct {
	Schedule string `json:"schedule"`
	Policy   string `json:"policy"`
	Repeat   int    `json:"repeat"`
	Seed     uint64 `json:"seed"`
	Quick    bool   `json:"quick,omitempty"`
	Remember bool   `json:"remember,omitempty"`
	// OnGPU is set if the jobs shared an emulated GPU that computes.
	OnGPU   bool            `json:"onGPU,omitempty"`
	Commit  string          `json:"commit"`
	Date    time.Time       `json:"date"`
	Machine results.Machine `json:"machine"`
	// Boot is the kernel's boot ID. Records of different boots are not compared.
	Boot string `json:"boot,omitempty"`
	// Settings are those of Trellis on the cluster, with the policy.
	Settings map[string]string `json:"settings,omitempty"`
	Jobs     []Job             `json:"jobs"`
	Makespan float64           `json:"makespanSeconds"`
}

// Job is the result of one job.
type Job struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Completion is the time from submission to the end. Target is the time until the metric had made 95 % of its
	// improvement; 0 if unknown.
	Completion float64 `json:"completionSeconds"`
	Target     float64 `json:"goodSeconds,omitempty"`
}

// recorded reads a complete run.
func recorded(line *timeline.Timeline) (jobs []Job, makespan float64) {
	for _, j := range line.Last().Jobs {
		jobs = append(jobs, Job{Name: j.Name, Kind: j.Kind, Completion: j.Completion().Seconds(), Target: line.TimeToTarget(j.Name).Seconds()})
	}
	return jobs, line.Makespan().Seconds()
}

// Commits returns the commits of all records in the order of their first records.
func Commits(records []Record) string {
	var commits []string
	for _, r := range records {
		if !slices.Contains(commits, r.Commit) {
			commits = append(commits, r.Commit)
		}
	}
	return strings.Join(commits, ", ")
}

// Settings returns the settings that all records with settings share. The policy and its objective differ by record.
func Settings(records []Record) map[string]string {
	var common map[string]string
	for _, r := range records {
		if len(r.Settings) == 0 {
			continue
		}
		if common == nil {
			common = maps.Clone(r.Settings)
		}
		maps.DeleteFunc(common, func(key, value string) bool { return r.Settings[key] != value })
	}
	return common
}

// Journal is a file of records, one per line.
type Journal struct{ Path string }

// Read returns the records; a missing journal is empty. A truncated line, left by a crash, is an error that names it:
// otherwise the next record would be appended to it.
func (j Journal) Read() ([]Record, error) {
	file, err := os.Open(j.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer file.Close()
	var records []Record
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w: delete that line", j.Path, n, err)
		}
		records = append(records, r)
	}
	return records, lines.Err()
}

// Add appends records.
func (j Journal) Add(records ...Record) error {
	if err := os.MkdirAll(filepath.Dir(j.Path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(j.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, r := range records {
		err = errors.Join(err, json.NewEncoder(file).Encode(r))
	}
	return errors.Join(err, file.Close())
}
