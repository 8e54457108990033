package hiccup

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// lookEvery is how often a processor is looked at, noticeable how late a look must be to say something.
	lookEvery  = 500 * time.Microsecond
	noticeable = 500 * time.Microsecond
)

// Watch looks at all processors until ctx ends, and writes a line for each hiccup. All threads of the process go before
// those of others from then on, for which it needs root's rights.
func Watch(ctx context.Context, to io.Writer) error {
	// A thread that sleeps keeps its place in Go's scheduler.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + runtime.NumCPU())
	if err := goFirst(); err != nil {
		return err
	}
	spans, failures := make(chan Span), make(chan error, runtime.NumCPU())
	var watching sync.WaitGroup
	for cpu := range runtime.NumCPU() {
		watching.Go(func() { failures <- watch(ctx, cpu, spans) })
	}
	go func() { watching.Wait(); close(spans); close(failures) }()
	for s := range spans {
		if _, err := fmt.Fprintln(to, s); err != nil {
			return err
		}
	}
	for err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// goFirst has all threads that the process has go before others, and so those that they will make.
func goFirst() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0); err != nil {
			return fmt.Errorf("going before all others: %w", err)
		}
	}
	return nil
}

// watch looks at one processor. Its thread ends with it.
func watch(ctx context.Context, cpu int, spans chan<- Span) error {
	runtime.LockOSThread()
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("processor %d: %w", cpu, err)
	}
	sleep := unix.NsecToTimespec(lookEvery.Nanoseconds())
	for ctx.Err() == nil {
		begun := Now()
		// Raw, so that Go's scheduler has no part in when it goes on. A signal that ends it early does no harm.
		_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&sleep)), 0, 0)
		if woke := Now(); woke-begun > lookEvery+noticeable {
			spans <- Span{begun + lookEvery, woke}
		}
	}
	return nil
}
