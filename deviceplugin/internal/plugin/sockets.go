package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// listen creates our socket and replaces a stale one.
func (r *Registrar) listen() (net.Listener, error) {
	path := filepath.Join(r.Dir, SocketName)
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

// watchSockets ends the session when kubelet recreates its socket or removes ours; kubelet does both when it starts.
func (r *Registrar) watchSockets(ctx context.Context, watcher *fsnotify.Watcher) error {
	for {
		select {
		case event, ok := <-watcher.Events:
			if !ok {
				return errors.New("watching kubelet's plugin directory ended")
			}
			if r.kubeletRestarted(event) {
				return errKubeletRestarted
			}
		case err := <-watcher.Errors:
			return fmt.Errorf("watching kubelet's plugin directory: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// kubeletRestarted reports whether the event is a recreated socket of kubelet, or the removal of ours.
func (r *Registrar) kubeletRestarted(event fsnotify.Event) bool {
	switch name := filepath.Base(event.Name); {
	case name == kubeletSocket && event.Has(fsnotify.Create):
		return r.Registered() && r.kubeletSocketTime() != *r.registeredSocket.Load()
	case name == SocketName && event.Has(fsnotify.Remove):
		return r.socketRemoved()
	}
	return false
}

// kubeletSocketTime identifies kubelet's socket by its creation time, because inode numbers are reused.
func (r *Registrar) kubeletSocketTime() time.Time {
	info, err := os.Stat(filepath.Join(r.Dir, kubeletSocket))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// socketRemoved reports whether our socket is gone. An event alone may come from the removal in listen.
func (r *Registrar) socketRemoved() bool {
	_, err := os.Stat(filepath.Join(r.Dir, SocketName))
	return errors.Is(err, os.ErrNotExist)
}
