package plugin

import (
	"context"
	"net"
	"path/filepath"
	"time"
)

// streamTimeout is the time after registration within which kubelet must open a ListAndWatch stream.
const streamTimeout = 3 * time.Second

// awaitSilence returns when kubelet runs but has had no stream for streamTimeout. When the stream of an earlier
// plugin ends, kubelet drops whichever plugin currently serves the resource. Only a new registration makes it connect
// again.
func (r *Registrar) awaitSilence(ctx context.Context) error {
	for {
		connected, changed := r.Server.Streams.Connected()
		var timeout <-chan time.Time
		if !connected {
			timeout = time.After(streamTimeout)
		}
		select {
		case <-changed:
		case <-timeout:
			if r.kubeletAnswers() {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// kubeletAnswers reports whether kubelet accepts connections.
func (r *Registrar) kubeletAnswers() bool {
	connection, err := net.DialTimeout("unix", filepath.Join(r.Dir, kubeletSocket), time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
