package scheduler

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
)

// Bounds of a diary. A node that a question was about costs a number, and one whose picture is of no snapshot any more some
// KiB: in a large cluster whose jobs all report between two decisions, that is every node of every decision.
const (
	maxDecisions = 1024
	maxSites     = 1 << 19
	maxOld       = 1 << 14
)

// Diary keeps the last decision about each of the last pods. It keeps what the decision was taken on, the immutable pictures
// of the nodes, rather than words about it: telling why costs nothing until somebody asks. The zero value is empty. It
// holds a lock of its own, which no watcher takes.
type Diary struct {
	mu    sync.Mutex
	pages []entry // oldest first
	byPod map[growth.PodUID]*page
	// sites and old are the sums over pages that are bounded.
	sites, old int
}

// entry is a page and how many pictures it keeps that the page after it does not, at most.
type entry struct {
	*page
	old int
}

// page is the last try to place one pod.
type page struct {
	pod                   request.Pod
	at                    time.Time
	filtered, prioritized sites
	promised              promise
	bound                 *bound
}

// promise is the room on a node that the pod was told to evict others for.
type promise struct {
	node    string
	victims []growth.PodUID
}

// sites are the nodes that a question was about, by their places: those from the first place on, one after another, as all
// nodes of a cluster mostly are, or those in places. unknown holds the names of those there was no picture of.
type sites struct {
	roll    cache.Roll
	count   int
	places  []int32
	unknown map[int]string
}

// bound is how a Bind ended.
type bound struct {
	at   time.Time
	node growth.NodeName
	gpus []growth.GPUShare
	err  error
}

// add notes the next node of the question.
func (s *sites) add(name string, seat cache.Seat) {
	if seat.Node == nil {
		if s.unknown == nil {
			s.unknown = map[int]string{}
		}
		s.unknown[s.count] = strings.Clone(name) // not the whole body that it is a part of
	}
	if s.places == nil && seat.Place != s.count {
		s.places = make([]int32, s.count, s.roll.Places())
		for i := range s.places {
			s.places[i] = int32(i)
		}
	}
	if s.places != nil {
		s.places = append(s.places, int32(seat.Place))
	}
	s.count++
}

// node is the i-th node of the question, nil for one that nothing was known of.
func (s sites) node(i int) *cache.Node {
	if _, unknown := s.unknown[i]; unknown {
		return nil
	}
	if s.places != nil {
		i = int(s.places[i])
	}
	return s.roll.At(i).Node
}

func (s sites) name(i int) string {
	if name, unknown := s.unknown[i]; unknown {
		return name
	}
	return string(s.node(i).Name)
}

// nodes are all of them.
func (s sites) nodes() []*cache.Node {
	all := make([]*cache.Node, s.count)
	for i := range all {
		all[i] = s.node(i)
	}
	return all
}

func (p *page) sites() int { return p.filtered.count + p.prioritized.count }

// pictures is how many pictures of nodes had ever been made when the last of its questions was answered.
func (p *page) pictures() uint64 {
	return max(p.filtered.roll.Pictures(), p.prioritized.roll.Pictures())
}

// filtered begins a page: every try starts with this question.
func (d *Diary) filtered(pod request.Pod, on sites) {
	d.write(&page{pod: pod, at: time.Now(), filtered: on, promised: d.promised(pod.Ref.UID)})
}

func (d *Diary) preempted(pod request.Pod, to promise) {
	next := page{pod: pod, at: time.Now()}
	if last := d.of(pod.Ref.UID); last != nil {
		next = *last
	}
	next.promised = to
	d.write(&next)
}

// promised is what the pod was promised last.
func (d *Diary) promised(pod growth.PodUID) promise {
	if last := d.of(pod); last != nil {
		return last.promised
	}
	return promise{}
}

func (d *Diary) prioritized(pod request.Pod, on sites) {
	next := page{pod: pod, at: time.Now()}
	if last := d.of(pod.Ref.UID); last != nil {
		next = *last
	}
	next.prioritized = on
	d.write(&next)
}

func (d *Diary) ended(pod growth.PodRef, node growth.NodeName, gpus []growth.GPUShare, err error) {
	last := d.of(pod.UID)
	if last == nil {
		return // another replica was asked before
	}
	next := *last
	next.bound = &bound{at: time.Now(), node: node, gpus: gpus, err: err}
	d.write(&next)
}

// write replaces the pod's page, and drops the oldest ones beyond the bounds, never the last. A page never changes once it
// is written.
func (d *Diary) write(next *page) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if before := d.byPod[next.pod.Ref.UID]; before != nil {
		at := len(d.pages) - 1
		for d.pages[at].page != before { // mostly one of the last
			at--
		}
		d.remove(at)
	}
	if d.byPod == nil {
		d.byPod = map[growth.PodUID]*page{}
	}
	d.pages, d.byPod[next.pod.Ref.UID] = append(d.pages, entry{page: next}), next
	d.sites += next.sites()
	d.weigh(len(d.pages) - 2)
	for len(d.pages) > 1 && (len(d.pages) > maxDecisions || d.sites > maxSites || d.old > maxOld) {
		d.remove(0)
	}
}

func (d *Diary) remove(at int) {
	gone := d.pages[at]
	delete(d.byPod, gone.pod.Ref.UID)
	d.sites, d.old = d.sites-gone.sites(), d.old-gone.old
	d.pages = slices.Delete(d.pages, at, at+1)
	d.weigh(at - 1)
}

// weigh counts the pictures that an entry keeps: of those that its rolls hold so many at most are not the next page's too.
func (d *Diary) weigh(at int) {
	if at < 0 {
		return
	}
	e := &d.pages[at]
	d.old -= e.old
	e.old = 0
	if at+1 < len(d.pages) {
		made, since := e.pictures(), d.pages[at+1].pictures()
		held := e.filtered.roll.Len() + e.prioritized.roll.Len()
		e.old = int(min(uint64(held), max(made, since)-min(made, since)))
	}
	d.old += e.old
}

// of returns the page of a pod, nil if there is none.
func (d *Diary) of(pod growth.PodUID) *page {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byPod[pod]
}

// page returns the newest page that is the one, nil if there is none.
func (d *Diary) page(is func(*page) bool) *page {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range slices.Backward(d.pages) {
		if is(e.page) {
			return e.page
		}
	}
	return nil
}
