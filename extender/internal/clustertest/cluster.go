package clustertest

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/trellis-gpu/trellis/extender/internal/apiserver"
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/reconcile"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Cluster is the stage.
type Cluster struct {
	T *testing.T
	// Mem is the bus in memory, nil where the stage stands on another one.
	Mem    *membus.Bus
	Bus    bus.Bus
	Client *fake.Clientset
	Keeper *cache.Keeper
	// Held is shared by the deciders and the sweepers of the stage.
	Held *reservations.Held
	// Bindings are those that were posted, in order.
	Bindings *Bindings

	budgets  apiserver.Budgets
	open     func() bus.Bus
	resource corev1.ResourceName
}

// New sets the stage on a bus in memory. It must be called inside a synctest bubble.
func New(t *testing.T) *Cluster {
	t.Helper()
	return Asked(t, gpushare.Resource)
}

// Asked is New in a cluster whose pods ask by another resource.
func Asked(t *testing.T, resource corev1.ResourceName) *Cluster {
	t.Helper()
	mem := membus.New()
	c := set(t, func() bus.Bus { return mem.Session() }, resource)
	c.Mem = mem
	return c
}

// On sets the stage on any bus; open connects to it, once for each part that has a connection of its own.
func On(t *testing.T, open func() bus.Bus) *Cluster {
	t.Helper()
	return set(t, open, gpushare.Resource)
}

func set(t *testing.T, open func() bus.Bus, resource corev1.ResourceName) *Cluster {
	t.Helper()
	c := &Cluster{T: t, open: open, Bus: open(), Client: fake.NewClientset(), Held: &reservations.Held{}, resource: resource}
	c.Bindings = honourBindings(c.Client)
	c.Keeper = c.Replica()
	return c
}

// Replica follows the cluster with a view of its own.
func (c *Cluster) Replica() *cache.Keeper {
	keeper := cache.NewKeeper(c.open(), c.resource, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	c.T.Cleanup(cancel)
	go func() { _ = keeper.Run(ctx) }()
	factory := apiserver.Informers(c.Client)
	c.budgets = apiserver.BudgetsOf(factory)
	go func() { _ = keeper.Inform(ctx, c.Client, factory) }()
	return keeper
}

// Decider decides on a view of the stage.
func (c *Cluster) Decider(keeper *cache.Keeper) *scheduler.Decider {
	policy, err := placement.NewPolicy("growth", interference.Prior())
	require.NoError(c.T, err)
	return &scheduler.Decider{
		View: keeper, Policy: policy, PolicyName: "growth", Ledger: c.ledger(), Held: c.Held, API: apiserver.API{Client: c.Client},
		Budgets: c.budgets, Resource: c.resource, Log: slog.New(slog.DiscardHandler), Conflicted: func() {},
	}
}

// Sweeper sweeps the stage.
func (c *Cluster) Sweeper() *reconcile.Sweeper {
	return &reconcile.Sweeper{
		View: c.Keeper, Ledger: c.ledger(), Reserver: c.Decider(c.Keeper), Held: c.Held, Pods: apiserver.API{Client: c.Client},
		Log: slog.New(slog.DiscardHandler), Repaired: func(string) {}, Mismatched: func(string) {},
	}
}

func (c *Cluster) ledger() reservations.Ledger {
	return reservations.Ledger{Bus: c.open(), Unbalanced: func() { c.T.Error("the books would not have balanced") }}
}

// Settle waits until all that happened has reached every view. Informers look once in a while whether they are synced,
// so the bubble's time has to pass.
func (c *Cluster) Settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// Put writes a record.
func (c *Cluster) Put(key string, value []byte) {
	c.T.Helper()
	_, err := c.Bus.Put(c.T.Context(), key, value, bus.Persistent)
	require.NoError(c.T, err)
}

// Node makes a labelled node whose device plugin publishes GPUs of so many GiB, named <node>-a, <node>-b ….
func (c *Cluster) Node(name string, memory ...growth.MiB) {
	c.T.Helper()
	c.Unshared(name, map[string]string{gpushare.NodeLabel: "true"})
	inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: string(c.resource)}
	for i, m := range memory {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: growth.GPU(name + "-" + string(rune('a'+i))), Memory: m * growth.GiB, Healthy: true})
	}
	Record(c, bus.GPUsKey(growth.NodeName(name)), inventory)
}

// Record writes a record of the schema.
func Record[T any, R bus.Record[T]](c *Cluster, key string, record T) {
	c.T.Helper()
	value, err := bus.Encode[T, R](record)
	require.NoError(c.T, err)
	c.Put(key, value)
}

// Reservations lists what is reserved on a node, by pod.
func (c *Cluster) Reservations(node growth.NodeName) map[growth.PodUID]bus.Reservation {
	c.T.Helper()
	entries, _, err := c.Bus.List(c.T.Context(), bus.ReservationsPrefix(node))
	require.NoError(c.T, err)
	found := map[growth.PodUID]bus.Reservation{}
	for _, entry := range entries {
		r, err := bus.Decode[bus.Reservation](entry.Value)
		require.NoError(c.T, err)
		found[r.Pod.UID] = r
	}
	return found
}

// Ref names a pod of the stage.
func Ref(pod *corev1.Pod) growth.PodRef {
	return growth.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: growth.PodUID(pod.UID)}
}
