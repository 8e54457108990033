package signalsave

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/save"
)

// lookPeriod is the time between two looks at the file.
const lookPeriod = 100 * time.Millisecond

// Saver saves the jobs of a node.
type Saver struct {
	// Proc is the path of the procfs, usually /proc.
	Proc      string
	Processes Processes
}

// Save sends the signal and returns the SHA-256 of the file that the job has written because of it, once it is on the disk. Its
// errors are for the job's user. It returns one at the deadline of the request, or when ctx ends.
func (s Saver) Save(ctx context.Context, r node.SignalSave) (string, error) {
	within := time.Until(r.Deadline).Round(time.Second / 10)
	ctx, cancel := context.WithDeadline(ctx, r.Deadline)
	defer cancel()
	p, err := s.target(r)
	if err != nil {
		return "", err
	}
	v, err := s.openVolume(p, r)
	if err != nil {
		return "", err
	}
	defer v.close()
	before, err := v.look()
	if err == nil {
		err = v.checkWritable()
	}
	if err == nil {
		err = s.checkHandler(p, r)
	}
	if err != nil {
		return "", err
	}
	if err := s.send(p, r); err != nil {
		return "", err
	}
	w := save.NewWatch(before, time.Now())
	sum, err := s.await(ctx, r, p, v, &w)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s has not led to a complete %s within %s: %s", r.Signal.Name, v.path, within, w.Missing())
	}
	if err != nil && v.full() {
		return "", fmt.Errorf("%w (%w)", errFull, err)
	}
	return sum, err
}

// await waits until the file is complete, and returns its SHA-256.
func (s Saver) await(ctx context.Context, r node.SignalSave, p process, v *volume, w *save.Watch) (string, error) {
	ticker := time.NewTicker(lookPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-ticker.C:
		}
		ended := !s.lives(p) // before the look at the file: what it has written is there then
		f, err := v.look()
		if err != nil {
			return "", err
		}
		switch settled := w.Settled(time.Now(), f); {
		case settled && s.isWritten(r, f):
			w.Open(time.Now())
		case settled:
			if v.full() {
				return "", fmt.Errorf("%s may be cut off", v.path)
			}
			sum, err := v.keep(ctx, f)
			if !errors.Is(err, errChanged) {
				return sum, err
			}
		case ended && w.Quiet(time.Now()):
			return "", fmt.Errorf("its process %s ended after %s: %s (%s)", p.name, r.Signal.Name, w.Missing(), v.path)
		}
	}
}
