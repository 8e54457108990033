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

// errConflict stops the process: two plugins of one resource would replace each other repeatedly.
var errConflict = errors.New("another device plugin takes the place of this one")

// conflictRetryDelay is the time before a conflict is checked again: kubelet may not know yet that the other plugin
// has gone.
const conflictRetryDelay = 2 * time.Second

// AllocatableLister lists kubelet's healthy device ids of the resource, whichever plugin advertised them.
type AllocatableLister interface {
	Allocatable(ctx context.Context) ([]string, error)
}

// checkSocket returns an error if another process serves on the socket path.
func checkSocket(path string) error {
	connection, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return nil // no socket, or a stale one
	}
	defer func() { _ = connection.Close() }()
	return fmt.Errorf("%w: %s answers at %s: is an older release of Trellis or a second DaemonSet still running here?",
		errConflict, peerName(connection), path)
}

// peerName describes the process at the other end of a socket, as far as it is visible from this container.
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

// checkAllocatable looks for another plugin of the same resource: kubelet lists healthy ids that are not ours. If
// kubelet does not answer, there is no conflict.
func (r *Registrar) checkAllocatable(ctx context.Context) error {
	foreignID := func() string {
		ids, err := r.Lister.Allocatable(ctx)
		if err != nil {
			return ""
		}
		devices, _ := r.Server.Inventory.Devices()
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
		return fmt.Errorf(
			"%w: kubelet has devices of %s such as %.80q, which this plugin did not advertise: stop the other "+
				"plugin, or choose another --resource", errConflict, r.Resource, id)
	}
	return nil
}
