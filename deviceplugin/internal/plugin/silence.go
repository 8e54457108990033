package plugin

import (
	"context"
	"net"
	"path/filepath"
	"time"
)

// silence is how long kubelet may have registered us and not listen.
const silence = 3 * time.Second

// ignored returns when kubelet, though it is there, has not listened for a while. When the stream of a plugin that was here
// before us ends, kubelet takes leave of whichever plugin has the resource by then; nothing but registering again makes it
// listen.
func (l *Life) ignored(ctx context.Context) error {
	for {
		heard, changed := l.Server.Audience.Heard()
		var late <-chan time.Time
		if !heard {
			late = time.After(silence)
		}
		select {
		case <-changed:
		case <-late:
			if l.answers() {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answers tells whether there is a kubelet.
func (l *Life) answers() bool {
	connection, err := net.DialTimeout("unix", filepath.Join(l.Dir, kubeletSocket), time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
