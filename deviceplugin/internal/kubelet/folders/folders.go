package folders

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"
)

const (
	// pluginSocket is the name of kubelet's registration socket in the folder of device plugins.
	pluginSocket = "kubelet.sock"
	dialTimeout  = time.Second
	// checkInterval is the time between two attempts of Check.
	checkInterval = time.Second
)

// remedy ends the errors of Check.
const remedy = `. If kubelet runs with another --root-dir, name that folder: make install ARGS="--kubelet-root DIR" ` +
	`(docs/other-software.md)`

// PluginDir returns the first folder of a comma-separated list in which kubelet answers, or the first one.
func PluginDir(list string) string {
	dirs := strings.Split(list, ",")
	for _, dir := range dirs {
		if answers(filepath.Join(dir, pluginSocket)) {
			return dir
		}
	}
	return dirs[0]
}

// Check returns nil once kubelet answers at both sockets, and an error that names the missing one after the timeout.
type Check struct {
	// PluginDirs is a comma-separated list of folders of device plugins. PodResources is kubelet's other socket.
	PluginDirs, PodResources string
	// Timeout covers a restart of kubelet.
	Timeout time.Duration
}

// Run implements the check. It returns nil if ctx ends first.
func (c Check) Run(ctx context.Context) error {
	deadline := time.After(c.Timeout)
	for {
		err := c.missing()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(checkInterval):
		case <-deadline:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

func (c Check) missing() error {
	if !answers(filepath.Join(PluginDir(c.PluginDirs), pluginSocket)) {
		return fmt.Errorf("kubelet does not answer at %s in %s, its folder of device plugins%s", pluginSocket,
			strings.ReplaceAll(c.PluginDirs, ",", " or "), remedy)
	}
	if !answers(c.PodResources) {
		return fmt.Errorf("kubelet does not answer at %s, its PodResources socket%s", c.PodResources, remedy)
	}
	return nil
}

func answers(socket string) bool {
	connection, err := net.DialTimeout("unix", socket, dialTimeout)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
