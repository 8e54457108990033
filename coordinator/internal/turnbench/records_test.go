package turnbench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"
)

// step is one record of a job: it computed from begin to end, and its call of step() returned at done. Times are readings of the
// monotonic clock of the machine, which all processes share.
type step struct {
	begin, end, done time.Duration
}

// readSteps reads the record of a process. A last line that is not complete is left out.
func readSteps(path string) ([]step, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	var steps []step
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var s step
		var number int64
		if _, err := fmt.Sscanf(lines.Text(), "%d %d %d %d", &s.begin, &s.end, &s.done, &number); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// window is a span of time.
type window struct{ from, to time.Duration }

func (w window) length() time.Duration { return w.to - w.from }

// held returns the time that steps took inside the window.
func held(steps []step, w window) (sum time.Duration) {
	for _, s := range steps {
		sum += max(0, min(s.end, w.to)-max(s.begin, w.from))
	}
	return sum
}

// counted returns the number of steps that ended inside the window.
func counted(steps []step, w window) (n int) {
	for _, s := range steps {
		if s.end > w.from && s.end <= w.to {
			n++
		}
	}
	return n
}

// waitedAtLeast is the duration from which a call of step() counts as a wait for the turn.
const waitedAtLeast = 2 * time.Millisecond

// pauses returns the number of calls of step() that waited for the turn.
func pauses(steps []step) (n int) {
	for _, s := range steps {
		if s.done-s.end >= waitedAtLeast {
			n++
		}
	}
	return n
}

// longestWait returns the longest time inside the window in which no step of the job ended.
func longestWait(steps []step, w window) time.Duration {
	last, longest := w.from, time.Duration(0)
	for _, s := range steps {
		if s.end <= w.from || s.end > w.to {
			continue
		}
		longest = max(longest, s.end-last)
		last = s.end
	}
	return max(longest, w.to-last)
}

// gaps returns the times in which the GPU was idle between the last step of one job and the next step of another job. A job
// that waited in step() computes from the return of that call; any other job from the begin of its step.
func gaps(jobs [][]step, w window) []time.Duration {
	type turn struct {
		job        int
		begin, end time.Duration
	}
	var all []turn
	for job, steps := range jobs {
		for i, s := range steps {
			t := turn{job, s.begin, s.end}
			if i > 0 && steps[i-1].done-steps[i-1].end >= waitedAtLeast {
				t.begin = steps[i-1].done
			}
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b turn) int { return int(a.begin - b.begin) })
	var found []time.Duration
	for i := 1; i < len(all); i++ {
		if all[i].job != all[i-1].job && all[i-1].end > w.from && all[i].begin <= w.to {
			found = append(found, max(0, all[i].begin-all[i-1].end))
		}
	}
	return found
}

// quantile returns the value below which a fraction of the values lie; 0 without values.
func quantile(values []time.Duration, fraction float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(fraction*float64(len(sorted)-1)+0.5)]
}
