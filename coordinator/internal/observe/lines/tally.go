package lines

// tally counts the reports and the epochs of one rank.
type tally struct {
	reports           int64
	step, total, last int64 // of the last report: step, total and epoch
	epochs            int64 // how often the step has started again in a new epoch
}

// maxSteps is the bound on steps in package wire.
const maxSteps = 1 << 53

// epoch returns the epoch of a report with a step. A progress bar that was almost full and starts again is one of the
// next epoch.
func (t *tally) epoch(f found) int64 {
	restarts := f.step < t.step
	filled := f.total > 0 && f.total == t.total && t.step >= t.total-t.total/10 && f.step <= t.step/2
	if restarts && (f.epoch > t.last || f.epoch < 0 && filled) {
		t.epochs++
	}
	t.step, t.total, t.last = f.step, f.total, f.epoch
	if f.epoch >= 0 {
		return f.epoch
	}
	return t.epochs
}

// totalSteps returns the number of steps of the job as far as it is known. The total of a progress bar per epoch grows
// with each epoch.
func (t *tally) totalSteps(total int64) int64 {
	if total <= 0 {
		return 0
	}
	if total > maxSteps/(t.epochs+1) {
		return maxSteps
	}
	return total * (t.epochs + 1)
}
