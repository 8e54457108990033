package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/oklog/run"
	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
)

const (
	// SocketName is the name of our socket in kubelet's plugin directory.
	SocketName = "trellis-gpu-mem.sock"
	// kubeletSocket is the name of kubelet's registration socket.
	kubeletSocket = "kubelet.sock"
	// registerTimeout bounds one Register call.
	registerTimeout = 5 * time.Second
	// retryDelay is the delay after a failed registration or session.
	retryDelay = 500 * time.Millisecond
	// maxRequest bounds kubelet's messages: they list all available ids.
	maxRequest = 4 << 20
)

// errKubeletRestarted ends a session when kubelet has restarted.
var errKubeletRestarted = errors.New("kubelet was restarted")

// Registrar keeps a Server registered with kubelet.
type Registrar struct {
	// Dir is kubelet's plugin directory.
	Dir      string
	Resource string
	Server   *Server
	Lister   AllocatableLister
	// AwaitImports delays registration until the pods of an earlier plugin of this resource are known.
	AwaitImports bool
	Metrics      *Metrics
	Log          *slog.Logger

	accepted         bool // a kubelet has accepted this process before
	registered       atomic.Bool
	registeredSocket atomic.Pointer[time.Time]
}

// Registered reports whether the plugin is registered with the running kubelet.
func (r *Registrar) Registered() bool { return r.registered.Load() }

// Run serves one session after another until ctx ends or another plugin conflicts with this one.
func (r *Registrar) Run(ctx context.Context) error {
	for {
		err := r.serve(ctx)
		r.registered.Store(false)
		r.Metrics.Registered.Set(0)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errConflict) {
			return err
		}
		if errors.Is(err, errKubeletRestarted) {
			r.Log.Info("registering again", "err", err)
			continue
		}
		r.Log.Warn("serving kubelet was interrupted", "err", err)
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return nil
		}
	}
}

// serve runs one session: the gRPC server, the registration, and the watch for a restart. The first to return ends
// it.
func (r *Registrar) serve(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher() // start watching first, so that no restart is missed
	if err == nil {
		defer func() { _ = watcher.Close() }()
		err = watcher.Add(r.Dir)
	}
	if err != nil {
		return fmt.Errorf("watching kubelet's plugin directory %s: %w", r.Dir, err)
	}
	if err := r.checkOtherPlugins(); err != nil {
		return err
	}
	listener, err := r.listen()
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest))
	pluginapi.RegisterDevicePluginServer(server, r.Server)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var actors run.Group
	actors.Add(func() error { return server.Serve(listener) }, func(error) { server.Stop() })
	actors.Add(func() error { return r.register(ctx) }, func(error) { cancel() })
	actors.Add(func() error { return r.watchSockets(ctx, watcher) }, func(error) { cancel() })
	return actors.Run()
}

// register keeps the plugin registered until the session ends. It checks for another plugin first, but not after a
// restart of kubelet: kubelet rejects its running pods until the plugin has registered, starting within milliseconds.
func (r *Registrar) register(ctx context.Context) error {
	if !r.accepted {
		if err := r.checkAllocatable(ctx); err != nil {
			return err
		}
	}
	if r.AwaitImports {
		if err := r.Server.Allocations.AwaitImports(ctx); err != nil {
			return err
		}
	}
	for {
		if err := r.registerWithRetry(ctx); err != nil {
			return err
		}
		if err := r.awaitSilence(ctx); err != nil {
			return err
		}
		r.Log.Warn("kubelet accepted the registration but has not connected: registering again", "timeout", streamTimeout)
		if err := r.checkAllocatable(ctx); err != nil {
			return err
		}
	}
}

// registerWithRetry calls Register until kubelet accepts.
func (r *Registrar) registerWithRetry(ctx context.Context) error {
	request := &pluginapi.RegisterRequest{
		Version:      pluginapi.Version,
		Endpoint:     SocketName,
		ResourceName: r.Resource,
		Options:      options(),
	}
	for {
		created := r.kubeletSocketTime()
		r.registeredSocket.Store(&created)
		attempt, cancel := context.WithTimeout(ctx, registerTimeout)
		err := kubelet.Register(attempt, filepath.Join(r.Dir, kubeletSocket), request)
		cancel()
		if err == nil {
			break
		}
		r.Log.Warn("kubelet has not accepted the registration yet", "err", err)
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.accepted = true
	r.registered.Store(true)
	r.Metrics.Registered.Set(1)
	r.Metrics.Registrations.Inc()
	r.Log.Info("registered with kubelet", "resource", r.Resource, "socket", SocketName)
	return nil
}
