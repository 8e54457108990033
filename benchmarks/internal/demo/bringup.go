package demo

import (
	"context"
	"os"
)

// bringUp returns how to undo it, also when it fails. A cluster that was up before is left up.
func (d *Demo) bringUp(ctx context.Context) (takeDown func(context.Context) error, err error) {
	takeDown = func(after context.Context) error {
		if !d.Local.Exists(after) {
			return nil // it never came up, and bin/local has said why
		}
		d.notice("taking cluster %s down", d.Local.Name)
		return d.timed("down", func() error { return d.Local.Down(after) })
	}
	if d.Local.IsUp(ctx) {
		takeDown = func(context.Context) error { return nil }
		d.notice("cluster %s is up already: it is used, and left up", d.Local.Name)
	} else {
		withPID := os.Getpid()
		d.goes = !d.Keep
		if d.Keep {
			withPID = 0
			takeDown = func(context.Context) error {
				d.notice("cluster %s stays: export KUBECONFIG=%s; take it down by %s down --name %s", d.Local.Name, d.Kubeconfig, d.Local.Program, d.Local.Name)
				return nil
			}
		}
		d.notice("bringing cluster %s up", d.Local.Name)
		if err := d.timed("up", func() error { return d.Local.Up(ctx, withPID) }); err != nil {
			return takeDown, err
		}
	}
	d.Kubeconfig, err = d.Local.Kubeconfig(ctx)
	return takeDown, err
}
