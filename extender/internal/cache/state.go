package cache

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// state is what the keeper's goroutine alone works on.
type state struct {
	resource corev1.ResourceName
	sites    map[growth.NodeName]*site
	pods     map[growth.PodUID]*request.Pod
	samples  map[growth.PodUID]observation
	// refused are the job records that can not be read, refusedOnNodes counts those of the nodes as last published.
	refused        map[string]error
	refusedOnNodes int

	nodesBus, jobsBus link
	// informed says that the informers have told everything once.
	informed bool
	// claims are Snapshot.Claims as last published.
	claims map[growth.PodUID]int
	// touched are the nodes to remake for the next snapshot, the others what else has changed.
	touched                 map[growth.NodeName]struct{}
	podsMoved, samplesMoved map[growth.PodUID]struct{}
	claimsMoved             map[growth.PodUID]int // by how many
}

// site is one node's sources.
type site struct {
	books *reservations.Books
	bound map[growth.PodUID]placement.BoundPod
	// over are the pods that have ended or are gone while the books still have what they held.
	over map[growth.PodUID]struct{}
	// registered says that the API server knows the node, unlabelled that it does so and that the node shares no GPUs.
	registered, unlabelled bool
	// lent says that bound is a picture's, too.
	lent bool
}

// own makes sure that what changes is no picture's.
func (s *site) own() {
	if s.lent || s.bound == nil {
		s.bound, s.lent = maps.Clone(s.bound), false
	}
	if s.bound == nil {
		s.bound = map[growth.PodUID]placement.BoundPod{}
	}
}

func (s *site) empty() bool {
	return !s.registered && s.books.Inventory == nil && len(s.bound)+len(s.books.Allocations)+len(s.books.Reservations)+len(s.books.Epochs)+len(s.books.Refused) == 0
}

// end notes that a pod is over.
func (s *site) end(pod growth.PodUID) {
	if s.over == nil {
		s.over = map[growth.PodUID]struct{}{}
	}
	s.over[pod] = struct{}{}
}

// link is the state of one watch on the bus.
type link struct {
	synced bool
	// listing says that a list has come in part: what the state has is no instant of the bus. A list that broke off begins
	// again.
	listing  bool
	revision bus.Revision
	away     error
	since    time.Time
}

func newState(resource corev1.ResourceName) *state {
	return &state{
		resource: resource,
		sites:    map[growth.NodeName]*site{},
		pods:     map[growth.PodUID]*request.Pod{},
		samples:  map[growth.PodUID]observation{},
		refused:  map[string]error{},

		touched:   map[growth.NodeName]struct{}{},
		claims:    map[growth.PodUID]int{},
		podsMoved: map[growth.PodUID]struct{}{}, samplesMoved: map[growth.PodUID]struct{}{}, claimsMoved: map[growth.PodUID]int{},
	}
}

// at returns a node's sources, to be changed.
func (s *state) at(name growth.NodeName) *site {
	s.touched[name] = struct{}{}
	if s.sites[name] == nil {
		s.sites[name] = &site{books: &reservations.Books{}}
	}
	return s.sites[name]
}

func (s *state) applyNodes(batch bus.Batch) {
	if batch.Reset {
		for name := range s.sites {
			s.at(name).books = &reservations.Books{}
		}
	}
	for _, name := range batch.Deleted {
		if key, err := bus.ParseKey(name); err == nil {
			s.at(key.Node).books.Remove(key)
		}
	}
	for _, entry := range batch.Entries {
		if key, err := bus.ParseKey(entry.Key); err == nil {
			s.at(key.Node).books.Enter(key, entry)
		}
	}
}

func (s *state) applyJobs(batch bus.Batch) {
	if batch.Reset {
		for pod := range s.samples {
			s.forgetSample(pod)
		}
		clear(s.refused)
	}
	for _, name := range batch.Deleted {
		delete(s.refused, name)
		if key, err := bus.ParseKey(name); err == nil && key.Kind == bus.KindSample {
			s.forgetSample(key.Pod)
		}
	}
	for _, entry := range batch.Entries {
		key, err := bus.ParseKey(entry.Key)
		if err != nil || key.Kind != bus.KindSample {
			continue
		}
		s.forgetSample(key.Pod)
		delete(s.refused, entry.Key)
		sample, err := bus.Decode[bus.Sample](entry.Value)
		if err != nil {
			s.refused[entry.Key] = err
			continue
		}
		s.samples[key.Pod] = observe(sample)
		s.touched[sample.Node] = struct{}{}
	}
}

func (s *state) forgetSample(pod growth.PodUID) {
	s.samplesMoved[pod] = struct{}{}
	if old, ok := s.samples[pod]; ok {
		s.touched[old.node] = struct{}{}
		delete(s.samples, pod)
	}
}

// setPod replaces what is known of a pod; nil is for one that is gone.
func (s *state) setPod(uid growth.PodUID, p *request.Pod) {
	if old, ok := s.pods[uid]; ok {
		if p != nil && earlier(p.ResourceVersion, old.ResourceVersion) {
			return
		}
		s.podsMoved[uid] = struct{}{}
		delete(s.pods, uid)
		if old.Node != "" {
			was := s.at(old.Node)
			was.own()
			delete(was.bound, uid)
			if p == nil || p.Ended {
				was.end(uid)
			}
		}
	}
	if p == nil {
		return
	}
	s.podsMoved[uid] = struct{}{}
	s.pods[uid] = p
	if p.Node != "" && !p.Ended && len(p.GPUs) > 0 {
		is := s.at(p.Node)
		is.own()
		is.bound[uid] = placement.BoundPod{GPUs: p.GPUs, Request: p.Request}
	}
}

// earlier tells whether one resource version of an object is before another. They are numbers that grow; what is no
// number is not known to be earlier.
func earlier(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseUint(b, 10, 64)
	return err == nil && x < y
}

func (s *state) setNode(node *corev1.Node, present bool) {
	name, unlabelled := growth.NodeName(node.Name), present && node.Labels[gpushare.NodeLabel] != "true"
	if old, ok := s.sites[name]; ok && old.registered == present && old.unlabelled == unlabelled {
		return // most updates are heartbeats
	}
	site := s.at(name)
	site.registered, site.unlabelled = present, unlabelled
}

// snapshot publishes the state: what did not change is shared with the last snapshot, what changed is made anew.
func (s *state) snapshot(last *Snapshot) *Snapshot {
	next := *last
	next.Synced = s.informed && s.nodesBus.synced && s.jobsBus.synced
	next.Away, next.Since = s.nodesBus.away, s.nodesBus.since
	if next.Away == nil && s.jobsBus.away != nil {
		next.Away, next.Since = s.jobsBus.away, s.jobsBus.since
	}
	if !next.Synced || s.nodesBus.listing || s.jobsBus.listing { // nobody decides on half of a cluster
		return &next
	}
	next.Revision = s.nodesBus.revision
	if len(s.podsMoved) > 0 {
		next.Pods = last.Pods.With(maps.Keys(s.podsMoved), func(pod growth.PodUID) (*request.Pod, bool) { p, ok := s.pods[pod]; return p, ok })
	}
	if len(s.samplesMoved) > 0 {
		next.samples = last.samples.With(maps.Keys(s.samplesMoved), func(pod growth.PodUID) (observation, bool) { o, ok := s.samples[pod]; return o, ok })
	}
	if len(s.touched) > 0 {
		// Sorted, so that the first snapshot's places are in the order in which nodes are mostly named.
		next.Nodes = last.Nodes.With(slices.Values(slices.Sorted(maps.Keys(s.touched))), func(name growth.NodeName) *Node {
			before, after := last.Node(name), s.remake(name)
			after.compare(before)
			s.refusedOnNodes += after.refusals() - before.refusals()
			s.claim(before, after, 1)
			s.claim(after, before, -1)
			return after
		})
		next.Claims = last.Claims.With(s.claimed(), func(pod growth.PodUID) (int, bool) { n, ok := s.claims[pod]; return n, ok })
	}
	next.Refused = len(s.refused) + s.refusedOnNodes
	clear(s.podsMoved)
	clear(s.samplesMoved)
	clear(s.claimsMoved)
	clear(s.touched)
	return &next
}

// remake makes a node's part of the next snapshot; nil where nothing is known of it any more.
func (s *state) remake(name growth.NodeName) *Node {
	site, known := s.sites[name]
	if !known {
		return nil
	}
	if site.empty() {
		delete(s.sites, name)
		return nil
	}
	site.lent = true
	node := picture(name, site.books.Now(), site.bound, s.sample)
	maps.DeleteFunc(site.over, func(pod growth.PodUID, _ struct{}) bool { return !site.books.Holds(pod) })
	if len(site.over) > 0 {
		node.expect(site.over, s.sample)
	}
	if site.unlabelled && site.books.Inventory == nil {
		node.Obstacle = "the node shares no GPUs: label " + gpushare.NodeLabel + "=true is missing"
	}
	return node
}

func (s *state) sample(pod growth.PodUID) (bus.Sample, bool) {
	o, ok := s.samples[pod]
	return o.sample(), ok
}

// claim counts the claims on a node that were not there before, by so much each: most of a node's stay as they are.
func (s *state) claim(before, now *Node, by int) {
	if now == nil {
		return
	}
	if before == nil {
		before = &Node{}
	}
	note(s.claimsMoved, before.Reservations, now.Reservations, by)
	note(s.claimsMoved, before.Allocations, now.Allocations, by)
	note(s.claimsMoved, before.Bound, now.Bound, by)
}

func note[V any](moved map[growth.PodUID]int, before, now map[growth.PodUID]V, by int) {
	for pod := range now {
		if _, there := before[pod]; !there {
			moved[pod] += by
		}
	}
}

// claimed brings the claims up to date and returns the pods that have others than before: of a node that changed, few.
func (s *state) claimed() iter.Seq[growth.PodUID] {
	maps.DeleteFunc(s.claimsMoved, func(_ growth.PodUID, by int) bool { return by == 0 })
	for pod, by := range s.claimsMoved {
		if s.claims[pod] += by; s.claims[pod] == 0 {
			delete(s.claims, pod)
		}
	}
	return maps.Keys(s.claimsMoved)
}

// refusals counts the node's records that can not be read.
func (n *Node) refusals() int {
	if n == nil {
		return 0
	}
	return n.refused
}

// aRefusal is one of the refusals, for the log.
func (s *state) aRefusal() string {
	for key, err := range s.refused {
		return key + ": " + err.Error()
	}
	for _, site := range s.sites {
		for key, err := range site.books.Refused {
			return key + ": " + err.Error()
		}
	}
	return ""
}
