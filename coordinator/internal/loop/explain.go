package loop

import (
	"context"
	"errors"
	"slices"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
)

func (j *job) inputs() explain.Inputs {
	return explain.Inputs{
		Step: j.latest.Step, TotalSteps: j.latest.TotalSteps, Value: j.value, Growth: j.reading.Growth, Samples: j.reading.Samples,
		Category: j.category, Used: j.used,
	}
}

// Explain tells what a job's share came of, by the pod's namespace and name.
func (l *Loop) Explain(ctx context.Context, pod string) (explain.Explanation, error) {
	answer := make(chan explain.Explanation, 1)
	unknown := make(chan struct{})
	go l.post(func() {
		for _, j := range l.jobs {
			if j.pod.Ref.String() == pod {
				answer <- j.explain()
				return
			}
		}
		close(unknown)
	})
	select {
	case e := <-answer:
		return e, nil
	case <-unknown:
		return explain.Explanation{}, explain.ErrNoJob
	case <-l.done:
		return explain.Explanation{}, errors.New("the loop has ended")
	case <-ctx.Done():
		return explain.Explanation{}, ctx.Err()
	}
}

func (j *job) explain() explain.Explanation {
	return explain.Explanation{
		Pod: j.pod.Ref, Category: j.category, Share: j.share, Request: j.pod.InForce().Sum(), Wanted: j.want.Sum(), Weight: j.usage.Weight,
		Fixed: j.fixed(), Decisions: slices.Clone(j.decisions),
	}
}
