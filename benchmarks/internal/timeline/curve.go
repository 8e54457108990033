package timeline

// Curve is what the readings show of a job's metric.
type Curve struct {
	// Points is the number of different steps at which the job had a value.
	Points int
	// Backwards is set if the step has become smaller.
	Backwards bool
}

// Curve returns the curve of one job.
func (t *Timeline) Curve(name string) (c Curve) {
	last := int64(-1)
	for _, p := range t.Course(name) {
		if !p.Job.Reported {
			continue
		}
		if p.Job.Step > last {
			c.Points++
		}
		c.Backwards = c.Backwards || p.Job.Step < last
		last = p.Job.Step
	}
	return c
}
