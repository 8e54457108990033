package wire_test

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth/wire"
)

func ExampleEncode() {
	loaders := 2
	line, err := wire.Encode(wire.Config{Generation: 7, Values: wire.Values{Loaders: &loaders}})
	fmt.Printf("%s%v\n", line, err)
	// Output:
	// {"v":1,"type":"config","generation":7,"loaders":2}
	// <nil>
}

func ExampleDecode() {
	message, err := wire.Decode([]byte(`{"v":1,"type":"progress","step":120,"metrics":{"loss":0.41}}`))
	if progress, ok := message.(wire.Progress); ok {
		loss, _ := progress.Metrics.Get("loss")
		fmt.Println(progress.Step, loss, err)
	}

	_, err = wire.Decode([]byte(`{"v":1,"type":"progress","step":-5}`))
	fmt.Println(err)
	// Output:
	// 120 0.41 <nil>
	// malformed line: progress: count -5 out of range
}
