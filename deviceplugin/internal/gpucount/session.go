package gpucount

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
)

const (
	// SocketName is the name of the plugin's socket in kubelet's plugin directory.
	SocketName = "trellis-gpu-count.sock"
	// kubeletSocket is the name of kubelet's registration socket.
	kubeletSocket = "kubelet.sock"
	// registerTimeout bounds one Register call.
	registerTimeout = 5 * time.Second
	// checkInterval is the time between two checks for a restart of kubelet, and the delay after a failed session.
	checkInterval = time.Second
)

// Run keeps the plugin registered with kubelet until ctx ends. The count is for display, so a failure only delays it.
func (p *Plugin) Run(ctx context.Context) error {
	failing := false
	for ctx.Err() == nil {
		err := p.serve(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			p.Log.Warn("the number of GPUs could not be advertised", "resource", Resource(p.Memory), "err", err)
		}
		failing = err != nil
		select {
		case <-time.After(checkInterval):
		case <-ctx.Done():
		}
	}
	return nil
}

// serve runs one session: it registers with kubelet, and returns nil once kubelet has restarted.
func (p *Plugin) serve(ctx context.Context) error {
	path := filepath.Join(p.Dir, SocketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing an old socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("listening for kubelet at %s: %w", path, err)
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(listener); err != nil {
			p.Log.Warn("serving the count of GPUs", "err", err)
		}
	}()
	defer func() {
		server.Stop()
		<-served
	}()
	registered := p.kubeletStarted()
	if err := p.register(ctx); err != nil {
		return err
	}
	for p.kubeletStarted().Equal(registered) && exists(path) {
		select {
		case <-time.After(checkInterval):
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

func (p *Plugin) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	return kubelet.Register(ctx, filepath.Join(p.Dir, kubeletSocket), &pluginapi.RegisterRequest{
		Version:      pluginapi.Version,
		Endpoint:     SocketName,
		ResourceName: Resource(p.Memory),
		Options:      &pluginapi.DevicePluginOptions{},
	})
}

// kubeletStarted returns the creation time of kubelet's socket, which differs after a restart.
func (p *Plugin) kubeletStarted() time.Time {
	info, err := os.Stat(filepath.Join(p.Dir, kubeletSocket))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// exists reports whether the socket is still there. A starting kubelet removes the sockets of plugins.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
