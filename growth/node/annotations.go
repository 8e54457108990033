package node

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// parse reads the annotations of a pod.
func (p Pod) parse() (gpushare.Spec, error) {
	if p.ByLimits {
		return gpushare.ParseWithLimits(p.Annotations)
	}
	return gpushare.Parse(p.Annotations)
}

// parseValid reads the annotations as parse does, but without those of countAtOnce that are invalid. It returns the first error about these as
// invalid. The pod has run with other values: admission refuses invalid ones when a pod is created.
func (p Pod) parseValid() (spec gpushare.Spec, invalid, err error) {
	if spec, invalid = p.parse(); invalid == nil {
		return spec, nil, nil
	}
	all := p.Annotations
	p.Annotations = maps.Clone(all)
	for _, name := range countAtOnce() {
		delete(p.Annotations, name)
	}
	if spec, err = p.parse(); err != nil {
		return spec, nil, err
	}
	for _, name := range countAtOnce() {
		value, has := all[name]
		if !has {
			continue
		}
		p.Annotations[name] = value
		with, wrong := p.parse()
		switch {
		case wrong == nil:
			spec = with
		case name == gpushare.TuneAnnotation: // nothing is tuned that the user may not want to be tuned
			p.Annotations[name] = gpushare.TuneNone
			spec.Tune = nil
		default:
			delete(p.Annotations, name)
		}
	}
	return spec, invalid, nil
}

// countAtOnce lists the annotations whose change on a running pod counts at once.
func countAtOnce() []string {
	return []string{
		gpushare.PriorityAnnotation, gpushare.DeadlineAnnotation, gpushare.TargetAnnotation, gpushare.ElasticAnnotation,
		gpushare.TuneAnnotation, gpushare.CoresAnnotation,
	}
}

// followAnnotations applies what a user has changed on a running pod. The metric, and where progress and checkpoints come from, stay:
// what is known of the job depends on them.
func (n *Node) followAnnotations(j *job, before Pod) {
	now, later := changedAnnotations(before, j.pod)
	if len(now)+len(later) == 0 {
		return
	}
	spec, err := j.pod.parse()
	if err != nil {
		n.event(j, time.Second, true, "BadAnnotation", err.Error()+". The job keeps the values that it had")
		return
	}
	postpone := func(name string) {
		if i := slices.Index(now, name); i >= 0 {
			now, later = slices.Delete(now, i, i+1), append(later, name)
		}
	}
	if spec.Metric != j.spec.Metric || spec.Direction != j.spec.Direction { // a target belongs to its metric
		spec.Target = j.spec.Target
		postpone(gpushare.TargetAnnotation)
	}
	if n.overlaps(n.gpus(j.pod.Ref.UID)) { // MPS has read the bound when the container started
		postpone(gpushare.CoresAnnotation)
	}
	if spec.Deadline != j.spec.Deadline || spec.Target != j.spec.Target && j.lifetime.Deadline == deadline.Met {
		j.forgetDeadline()
	}
	s := &j.spec
	s.Priority, s.Deadline, s.Target, s.Elastic = spec.Priority, spec.Deadline, spec.Target, spec.Elastic
	s.Tune, s.Cores = spec.Tune, spec.Cores
	var parts []string
	if len(now) > 0 {
		parts = append(parts, "Trellis follows from now on what the pod has as "+strings.Join(now, ", "))
	}
	if len(later) > 0 {
		parts = append(parts, "A change of "+strings.Join(later, ", ")+" counts from the job's next pod")
	}
	n.event(j, time.Second, false, "AnnotationsChanged", strings.Join(parts, ". "))
	n.deliver(j)
	n.interrupt("annotations", false)
}

// changedAnnotations returns the names of what a user has changed: what counts at once, and what counts later.
func changedAnnotations(before, after Pod) (now, later []string) {
	for _, name := range gpushare.UserAnnotations() {
		if strings.TrimSpace(before.Annotations[name]) == strings.TrimSpace(after.Annotations[name]) {
			continue
		}
		switch {
		case name == gpushare.PausedAnnotation, name == gpushare.SaveAnnotation, name == gpushare.MoveAnnotation: // requests
		case slices.Contains(countAtOnce(), name):
			now = append(now, name)
		default:
			later = append(later, name)
		}
	}
	return now, later
}
