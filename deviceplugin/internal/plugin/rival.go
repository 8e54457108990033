package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// errRival ends the plugin: two that serve one resource would take each other's place for ever.
var errRival = errors.New("another device plugin is in our place")

// rivalAgain is after how long a rival is looked for a second time: kubelet may not have noticed yet that it is gone.
const rivalAgain = 2 * time.Second

// Served lists the ids of the healthy devices that kubelet has of our resource, whoever advertised them.
type Served interface {
	Served(ctx context.Context) ([]string, error)
}

// contested says who answers at the socket that we are about to make, or nil for nobody.
func contested(path string) error {
	connection, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return nil // nothing there, or what a crash left behind
	}
	defer func() { _ = connection.Close() }()
	return fmt.Errorf("%w: %s answers at %s: is an older release of Trellis or a second DaemonSet still running here?", errRival, peer(connection), path)
}

// peer names the process at the other end of a socket, as far as it can be seen from here.
func peer(connection net.Conn) string {
	raw, err := connection.(*net.UnixConn).SyscallConn()
	if err != nil {
		return "a process"
	}
	var credentials *unix.Ucred
	if controlled := raw.Control(func(fd uintptr) {
		credentials, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); controlled != nil || err != nil || credentials.Pid == 0 {
		return "a process of another container"
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", credentials.Pid))
	if err != nil {
		return fmt.Sprintf("process %d", credentials.Pid)
	}
	return fmt.Sprintf("process %d (%s)", credentials.Pid, strings.TrimSpace(string(name)))
}

// rival looks for another plugin that serves our resource: kubelet lists healthy devices of it that can not be ours.
// What kubelet does not tell is no rival.
func (l *Life) rival(ctx context.Context) error {
	foreign := func() string {
		ids, err := l.Served.Served(ctx)
		if err != nil {
			return ""
		}
		devices, _ := l.Server.Inventory.Devices()
		ours := map[growth.GPU]bool{}
		for _, d := range devices {
			ours[d.UUID] = true
		}
		for _, id := range ids {
			if gpu, _, err := slice.Parse(id); err != nil || !ours[gpu] {
				return id
			}
		}
		return ""
	}
	if foreign() == "" {
		return nil
	}
	select {
	case <-time.After(rivalAgain):
	case <-ctx.Done():
		return ctx.Err()
	}
	if id := foreign(); id != "" {
		return fmt.Errorf("%w: kubelet has devices of %s such as %.80q, which are none of this node's GPUs as we see them: stop that plugin, or choose another --resource", errRival, l.Resource, id)
	}
	return nil
}
