package loop

import (
	"errors"

	"github.com/trellis-gpu/trellis/coordinator/internal/signalsave"
	"github.com/trellis-gpu/trellis/growth/node"
)

var errNoSignals = errors.New("this coordinator sends no signals")

// saveBySignal lets a job save in the background, and posts what came of it.
func (l *Loop) saveBySignal(r node.SignalSave) {
	go func() {
		sum, err := "", errNoSignals
		if l.ports.Checkpoints != nil {
			sum, err = l.ports.Checkpoints.Save(l.ctx, r)
		}
		answer := node.SignalAnswered{Pod: r.Pod.UID, Request: r.Request, SHA256: sum}
		if err != nil {
			answer.Err, answer.Ended = err.Error(), errors.Is(err, signalsave.ErrEnded)
		}
		l.post(func() { l.step(answer) })
	}()
}
