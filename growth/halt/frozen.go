package halt

// Frozen follows the container of a job that cannot wait between two steps, and is frozen instead. The zero value is a container
// that runs. One order is open at a time, so that a freeze and a thaw do not overtake each other.
type Frozen struct {
	container string // of the last order
	is, open  bool
	failed    string // why the container could not be frozen; it is not tried again before the job runs
}

// Next returns the order that is due, if one is. container is the one to freeze; empty if the job should run.
func (f *Frozen) Next(container string) (id string, freeze, due bool) {
	switch {
	case f.open:
		return "", false, false
	case container == "":
		f.failed = ""
		f.open = f.is
		return f.container, false, f.is
	case f.failed != "" || f.Is(container):
		return "", false, false
	}
	f.container, f.is, f.open = container, false, true
	return container, true, true
}

// Leave returns the order for a job that leaves the node, after which no other follows.
func (f *Frozen) Leave() (id string, due bool) { return f.container, f.is || f.open }

// Answered adds the result of the open order: what the container is now, and why if that is not what was ordered.
func (f *Frozen) Answered(container string, frozen bool, failed string) {
	if f.open && container == f.container {
		f.open, f.is, f.failed = false, frozen, failed
	}
}

// Is reports whether the container is frozen.
func (f *Frozen) Is(container string) bool { return f.is && f.container == container }

// Failed returns why the container could not be frozen; empty if it was not tried.
func (f *Frozen) Failed() string { return f.failed }
