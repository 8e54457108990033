package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/oklog/run"
	"google.golang.org/grpc"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
)

const (
	// SocketName is the name of our socket in kubelet's folder of plugins.
	SocketName = "trellis-gpu-mem.sock"
	// kubeletSocket is the name of kubelet's own.
	kubeletSocket = "kubelet.sock"
	// registerTimeout bounds one attempt to register.
	registerTimeout = 5 * time.Second
	// retryDelay is the pause after a life that failed, or an attempt that did.
	retryDelay = 500 * time.Millisecond
	// maxRequest bounds what kubelet may send: the list of all available ids.
	maxRequest = 4 << 20
)

// errKubeletRestarted ends a life whose kubelet has restarted.
var errKubeletRestarted = errors.New("kubelet was restarted")

// Registrar keeps a server registered with kubelet.
type Registrar struct {
	// Dir is kubelet's folder of plugins.
	Dir      string
	Resource string
	Server   *Server
	Lister   AllocatableLister
	// AwaitImports says that another plugin may have offered the resource before: kubelet hears of us once it is known what
	// that plugin's pods hold.
	AwaitImports bool
	Metrics      *Metrics
	Log          *slog.Logger

	accepted         bool // once, by some kubelet
	registered       atomic.Bool
	registeredSocket atomic.Pointer[time.Time]
}

// Registered tells whether kubelet knows us now.
func (l *Registrar) Registered() bool { return l.registered.Load() }

// Run lives one life after another until ctx ends, or another plugin turns out to be in our place.
func (l *Registrar) Run(ctx context.Context) error {
	for {
		err := l.serve(ctx)
		l.registered.Store(false)
		l.Metrics.Registered.Set(0)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errConflict) {
			return err
		}
		if errors.Is(err, errKubeletRestarted) {
			l.Log.Info("registering again", "reason", err)
			continue
		}
		l.Log.Warn("serving kubelet was interrupted", "reason", err)
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return nil
		}
	}
}

// serve is one life: three actors, of which the first to return ends all.
func (l *Registrar) serve(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher() // before anything else: a restart from here on is noticed
	if err == nil {
		defer func() { _ = watcher.Close() }()
		err = watcher.Add(l.Dir)
	}
	if err != nil {
		return fmt.Errorf("watching kubelet's folder %s: %w", l.Dir, err)
	}
	if err := l.checkOtherPlugins(); err != nil {
		return err
	}
	listener, err := l.listen()
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest))
	deviceplugin.RegisterDevicePluginServer(server, l.Server)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var actors run.Group
	actors.Add(func() error { return server.Serve(listener) }, func(error) { server.Stop() })
	actors.Add(func() error { return l.register(ctx) }, func(error) { cancel() })
	actors.Add(func() error { return l.watchSockets(ctx, watcher) }, func(error) { cancel() })
	return actors.Run()
}

// listen makes our socket, in place of one that a crash left behind.
func (l *Registrar) listen() (net.Listener, error) {
	path := filepath.Join(l.Dir, SocketName)
	if err := checkSocket(path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing an old socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening for kubelet at %s: %w", path, err)
	}
	return listener, nil
}

// register keeps us registered until the life ends. It does not take another plugin's place. A kubelet that was restarted
// is not asked for one first: it refuses the pods that it finds until it has heard of us, and begins with them some tens of
// milliseconds after it has made its socket.
func (l *Registrar) register(ctx context.Context) error {
	if !l.accepted {
		if err := l.checkAllocatable(ctx); err != nil {
			return err
		}
	}
	if l.AwaitImports {
		if err := l.Server.Allocations.AwaitImports(ctx); err != nil {
			return err
		}
	}
	for {
		if err := l.registerWithRetry(ctx); err != nil {
			return err
		}
		if err := l.awaitSilence(ctx); err != nil {
			return err
		}
		l.Log.Warn("kubelet knows us and does not listen: registering again", "silent", streamTimeout)
		if err := l.checkAllocatable(ctx); err != nil {
			return err
		}
	}
}

// registerWithRetry tries until kubelet accepts.
func (l *Registrar) registerWithRetry(ctx context.Context) error {
	request := &deviceplugin.RegisterRequest{
		Version:      deviceplugin.Version,
		Endpoint:     SocketName,
		ResourceName: l.Resource,
		Options:      options(),
	}
	for {
		created := l.kubeletSocketTime()
		l.registeredSocket.Store(&created)
		attempt, cancel := context.WithTimeout(ctx, registerTimeout)
		err := kubelet.Register(attempt, filepath.Join(l.Dir, kubeletSocket), request)
		cancel()
		if err == nil {
			break
		}
		l.Log.Warn("kubelet does not know us yet", "reason", err)
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.accepted = true
	l.registered.Store(true)
	l.Metrics.Registered.Set(1)
	l.Metrics.Registrations.Inc()
	l.Log.Info("registered with kubelet", "resource", l.Resource, "socket", SocketName)
	return nil
}

// watchSockets ends the life when kubelet makes its socket anew, or ours is gone: a kubelet that starts clears its folder.
func (l *Registrar) watchSockets(ctx context.Context, watcher *fsnotify.Watcher) error {
	for {
		select {
		case event, ok := <-watcher.Events:
			switch {
			case !ok:
				return errors.New("watching kubelet's folder ended")
			case filepath.Base(event.Name) == kubeletSocket && event.Has(fsnotify.Create) && l.Registered() && l.kubeletSocketTime() != *l.registeredSocket.Load():
				return errKubeletRestarted
			case filepath.Base(event.Name) == SocketName && event.Has(fsnotify.Remove) && l.socketRemoved():
				return errKubeletRestarted
			}
		case err := <-watcher.Errors:
			return fmt.Errorf("watching kubelet's folder: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// kubeletSocketTime tells kubelet's sockets apart by the time each was made; inodes are used again.
func (l *Registrar) kubeletSocketTime() time.Time {
	info, err := os.Stat(filepath.Join(l.Dir, kubeletSocket))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// socketRemoved tells whether our socket is: an event may be of the one that listen itself removed.
func (l *Registrar) socketRemoved() bool {
	_, err := os.Stat(filepath.Join(l.Dir, SocketName))
	return errors.Is(err, os.ErrNotExist)
}
