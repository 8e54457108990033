package cluster

import (
	"context"
	"os"
)

// Borrowed is a local cluster that a benchmark uses.
type Borrowed struct {
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Goes reports whether GiveBack takes the cluster down, with every object on it.
	Goes bool

	local Local
	stays bool
	say   func(format string, values ...any)
}

// Borrow uses the cluster if it is up. Otherwise it brings the cluster up until GiveBack or the end of this process;
// with keep, for good. The caller calls GiveBack also after an error. say receives progress messages.
func (l Local) Borrow(ctx context.Context, keep bool, say func(format string, values ...any)) (b Borrowed, err error) {
	b = Borrowed{local: l, say: say}
	if l.IsUp(ctx) {
		say("cluster %s is up already: it is used, and left up", l.Name)
	} else {
		withPID := os.Getpid()
		if b.Goes = !keep; keep {
			withPID = 0
		}
		say("bringing cluster %s up", l.Name)
		if err := l.Up(ctx, withPID); err != nil {
			return b, err
		}
		b.stays = keep
	}
	b.Kubeconfig, err = l.Kubeconfig(ctx)
	return b, err
}

// GiveBack takes the cluster down if Borrow brought it up.
func (b Borrowed) GiveBack(ctx context.Context) error {
	switch {
	case b.stays:
		b.say("cluster %s stays: export KUBECONFIG=%s; take it down by %s down --name %s", b.local.Name, b.Kubeconfig, b.local.Program, b.local.Name)
		return nil
	case !b.Goes, !b.local.Exists(ctx): // it never came up, and bin/local has printed why
		return nil
	}
	b.say("taking cluster %s down", b.local.Name)
	return b.local.Down(ctx)
}
