package flowcon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/demo"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// A taught variant plays a repeat of the schedule first, in the same namespace, with other weights and data. Its figures are those
// of a node that has seen one repeat, or of a node that has seen nothing while another has.
const (
	taughtHere      = "+here"
	taughtElsewhere = "+elsewhere"
)

const (
	// taughtRepeats is added to the number of a repeat for the one before it, so that their seeds differ.
	taughtRepeats = 1000
	// mergedWithin bounds the time until the tuner has merged what a node has published.
	mergedWithin = 2 * time.Minute
)

// TaughtVariants are further variants: harmless where one repeat was seen by the same node, and by another node only.
func TaughtVariants() []string {
	return []string{"harmless" + taughtHere, "harmless" + taughtElsewhere}
}

// NodesFor returns the number of nodes that the variants need, and how many of them play repeats at the same time.
func NodesFor(variants []string, nodes int) (needed, playing int) {
	for _, v := range variants {
		if strings.HasSuffix(v, taughtElsewhere) {
			return max(nodes, 2), 1
		}
	}
	return nodes, nodes
}

// teacher returns the node of the repeat that is played before; 0 for a variant without one.
func teacher(variant string, node int) int {
	switch {
	case strings.HasSuffix(variant, taughtHere):
		return node
	case strings.HasSuffix(variant, taughtElsewhere):
		return node + 1
	}
	return 0
}

// teach plays a repeat before that of a run, and waits until the tuner has merged what it has shown.
func (b *Bench) teach(ctx, after context.Context, p Pass, run *demo.Run, node int, folder string) (err error) {
	before := b.newRun(p, run.Setup.Image, taughtRepeats+run.Round, teacher(p.Variant, node))
	before.Setup.Namespace = run.Setup.Namespace
	if before.Folder, err = results.Create(filepath.Join(folder, before.Setup.Run+"-before")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, before.Folder.Close()) }()
	b.say("%s: a repeat on node %d comes first", p, teacher(p.Variant, node))
	if err := before.Prepare(ctx); err != nil {
		return err
	}
	defer func() {
		after, cancel := context.WithTimeout(after, clearWithin)
		defer cancel()
		err = errors.Join(err, before.Clear(after))
	}()
	if err := b.awaitReady(ctx, before, p); err != nil {
		return err
	}
	line, err := before.Watch(ctx)
	if err := errors.Join(err, results.Failures(line)); err != nil {
		return err
	}
	return b.awaitMerged(ctx, run.Setup.Namespace, p.Schedule)
}

// awaitMerged waits until the tuner knows all programs of a schedule.
func (b *Bench) awaitMerged(ctx context.Context, namespace string, s Schedule) error {
	kinds := map[string]bool{}
	for _, j := range s.Jobs {
		kinds[j.Kind] = true
	}
	ctx, cancel := context.WithTimeout(ctx, mergedWithin)
	defer cancel()
	for {
		known, err := b.connection.Programs(ctx)
		if err == nil && known[namespace] >= len(kinds) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, fmt.Errorf("the tuner has merged %d of %d programs of %s within %s",
				known[namespace], len(kinds), namespace, mergedWithin))
		case <-time.After(time.Second):
		}
	}
}
