package plugin

import (
	"context"
	"net"
	"path/filepath"
	"time"
)

// streamTimeout is how long kubelet may have registered us and not listen.
const streamTimeout = 3 * time.Second

// awaitSilence returns when kubelet, though it is there, has not listened for a while. When the stream of a plugin that was here
// before us ends, kubelet takes leave of whichever plugin has the resource by then; nothing but registering again makes it
// listen.
func (l *Registrar) awaitSilence(ctx context.Context) error {
	for {
		connected, changed := l.Server.Streams.Connected()
		var timeout <-chan time.Time
		if !connected {
			timeout = time.After(streamTimeout)
		}
		select {
		case <-changed:
		case <-timeout:
			if l.kubeletAnswers() {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// kubeletAnswers tells whether there is a kubelet.
func (l *Registrar) kubeletAnswers() bool {
	connection, err := net.DialTimeout("unix", filepath.Join(l.Dir, kubeletSocket), time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
