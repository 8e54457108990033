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

// errConflict ends the plugin: two that serve one resource would take each other's place for ever.
var errConflict = errors.New("another device plugin is in our place")

// conflictRetryDelay is after how long a rival is looked for a second time: kubelet may not have noticed yet that it is gone.
const conflictRetryDelay = 2 * time.Second

// AllocatableLister lists the ids of the healthy devices that kubelet has of our resource, whoever advertised them.
type AllocatableLister interface {
	Allocatable(ctx context.Context) ([]string, error)
}

// checkSocket says who answers at the socket that we are about to make, or nil for nobody.
func checkSocket(path string) error {
	connection, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return nil // nothing there, or what a crash left behind
	}
	defer func() { _ = connection.Close() }()
	return fmt.Errorf("%w: %s answers at %s: is an older release of Trellis or a second DaemonSet still running here?", errConflict, peerName(connection), path)
}

// peerName names the process at the other end of a socket, as far as it can be seen from here.
func peerName(connection net.Conn) string {
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

// checkAllocatable looks for another plugin that serves our resource: kubelet lists healthy devices of it that can not be ours.
// What kubelet does not tell is no rival.
func (l *Registrar) checkAllocatable(ctx context.Context) error {
	foreignID := func() string {
		ids, err := l.Lister.Allocatable(ctx)
		if err != nil {
			return ""
		}
		devices, _ := l.Server.Inventory.Devices()
		own := map[growth.GPU]bool{}
		for _, d := range devices {
			own[d.UUID] = true
		}
		for _, id := range ids {
			if gpu, _, err := slice.Parse(id); err != nil || !own[gpu] {
				return id
			}
		}
		return ""
	}
	if foreignID() == "" {
		return nil
	}
	select {
	case <-time.After(conflictRetryDelay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if id := foreignID(); id != "" {
		return fmt.Errorf("%w: kubelet has devices of %s such as %.80q, which are none of this node's GPUs as we see them: stop that plugin, or choose another --resource", errConflict, l.Resource, id)
	}
	return nil
}
