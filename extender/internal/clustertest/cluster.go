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
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Cluster is a small cluster.
type Cluster struct {
	T *testing.T
	// Mem is the bus in memory, nil if the cluster uses another bus.
	Mem    *membus.Bus
	Bus    bus.Bus
	Client *fake.Clientset
	// Cache is the cache of the first replica.
	Cache *cache.Cache
	// Bindings are the posted Bindings, in order.
	Bindings *Bindings

	budgets  apiserver.Budgets
	open     func() bus.Bus
	resource corev1.ResourceName
}

// New returns a cluster on a bus in memory. It must be called inside a synctest bubble.
func New(t *testing.T) *Cluster {
	t.Helper()
	return WithResource(t, gpushare.Resource)
}

// WithResource returns a cluster whose pods request another extended resource.
func WithResource(t *testing.T, resource corev1.ResourceName) *Cluster {
	t.Helper()
	mem := membus.New()
	c := newCluster(t, func() bus.Bus { return mem.Session() }, resource)
	c.Mem = mem
	return c
}

// On returns a cluster on any bus. open is called once for each part with a connection of its own.
func On(t *testing.T, open func() bus.Bus) *Cluster {
	t.Helper()
	return newCluster(t, open, gpushare.Resource)
}

func newCluster(t *testing.T, open func() bus.Bus, resource corev1.ResourceName) *Cluster {
	t.Helper()
	// NewClientset also tracks who manages which field. It would take most of the time of a test.
	c := &Cluster{T: t, open: open, Bus: open(), Client: fake.NewSimpleClientset(), resource: resource}
	c.Bindings = acceptBindings(c.Client)
	c.Cache = c.Replica()
	return c
}

// Replica returns a running cache of the cluster, as another replica has it.
func (c *Cluster) Replica() *cache.Cache {
	replica := cache.New(c.open(), c.resource, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	c.T.Cleanup(cancel)
	go func() { _ = replica.Run(ctx) }()
	go func() { _ = replica.Learn(ctx) }()
	factory := apiserver.Informers(c.Client)
	c.budgets = apiserver.BudgetsOf(factory)
	go func() { _ = replica.Inform(ctx, c.Client, factory) }()
	return replica
}

// Scheduler returns a scheduler on a cache. It assumes reservations of its own.
func (c *Cluster) Scheduler(nodes *cache.Cache) *scheduler.Scheduler {
	policy, err := placement.NewPolicy("growth", nil)
	require.NoError(c.T, err)
	return &scheduler.Scheduler{
		Cache:      nodes,
		Policy:     policy,
		PolicyName: "growth",
		Store:      c.store(),
		Assumed:    &reservations.Assumed{},
		API:        apiserver.API{Client: c.Client},
		Budgets:    c.budgets,
		Resource:   c.resource,
		Log:        slog.New(slog.DiscardHandler),
		OnConflict: func() {},
	}
}

// Reconciler returns a reconciler of the scheduler's replica. Without a scheduler it gets one of its own.
func (c *Cluster) Reconciler(s *scheduler.Scheduler) *reconcile.Reconciler {
	if s == nil {
		s = c.Scheduler(c.Cache)
	}
	return &reconcile.Reconciler{
		Cache:      c.Cache,
		Store:      c.store(),
		Reserver:   s,
		Assumed:    s.Assumed,
		Pods:       apiserver.API{Client: c.Client},
		Log:        slog.New(slog.DiscardHandler),
		Repaired:   func(string) {},
		Mismatched: func(string) {},
	}
}

func (c *Cluster) store() reservations.Store {
	return reservations.Store{Bus: c.open(), OverCommitted: func() { c.T.Error("a reservation would have over-committed a GPU") }}
}

// Settle waits until every change has reached every cache. Informers poll whether they are synced, so the time of the
// bubble has to pass.
func (c *Cluster) Settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// Put writes a value to the bus.
func (c *Cluster) Put(key string, value []byte) {
	c.T.Helper()
	_, err := c.Bus.Put(c.T.Context(), key, value, bus.Persistent)
	require.NoError(c.T, err)
}

// Node creates a labelled node whose device plugin publishes GPUs of the given GiB, named <node>-a, <node>-b ….
func (c *Cluster) Node(name string, memory ...growth.MiB) {
	c.T.Helper()
	c.NodeWithLabels(name, map[string]string{gpushare.NodeLabel: "true"})
	inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: string(c.resource)}
	for i, m := range memory {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: growth.GPU(name + "-" + string(rune('a'+i))), Memory: m * growth.GiB, Healthy: true})
	}
	Record(c, bus.GPUsKey(growth.NodeName(name)), inventory)
}

// Record writes an encoded record to the bus.
func Record[T any, R bus.Record[T]](c *Cluster, key string, record T) {
	c.T.Helper()
	value, err := bus.Encode[T, R](record)
	require.NoError(c.T, err)
	c.Put(key, value)
}

// Reservations returns the reservations on a node, by pod.
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

// Ref returns the reference of a pod.
func Ref(pod *corev1.Pod) growth.PodRef {
	return growth.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: growth.PodUID(pod.UID)}
}
