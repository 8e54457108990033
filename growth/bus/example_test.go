package bus_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
)

// A reservation is a compare-and-swap: of two writers that decide on the same state, one gets ErrConflict.
func ExampleAbsent() {
	session := membus.New().Session()
	ctx := context.Background()
	key := bus.ReservationKey("node-1", "6f0c7a1e-0000-4000-8000-000000000001")
	value, err := bus.Encode(bus.Reservation{
		Pod:     growth.PodRef{Namespace: "team", Name: "train", UID: "6f0c7a1e-0000-4000-8000-000000000001"},
		Created: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		GPUs:    []growth.GPUShare{{GPU: "GPU-a", Memory: 8 * growth.GiB}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = session.Put(ctx, key, value, bus.Persistent, bus.Absent(key))
	fmt.Println("first:", err)
	_, err = session.Put(ctx, key, value, bus.Persistent, bus.Absent(key))
	fmt.Println("second conflicts:", errors.Is(err, bus.ErrConflict))

	entries, _, _ := session.List(ctx, bus.ReservationsPrefix("node-1"))
	reservation, err := bus.Decode[bus.Reservation](entries[0].Value)
	fmt.Println(entries[0].Key)
	fmt.Println(reservation.Pod.Name, reservation.GPUs[0].Memory, err)
	// Output:
	// first: <nil>
	// second conflicts: true
	// /trellis/v1/nodes/node-1/reservations/6f0c7a1e-0000-4000-8000-000000000001
	// train 8GiB <nil>
}
