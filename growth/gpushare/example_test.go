package gpushare_test

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func ExampleParse() {
	spec, err := gpushare.Parse(map[string]string{
		"gpushare/gpu-mem": "8Gi",
		"gpushare/metric":  "accuracy:max",
	})
	fmt.Println(spec.Memory, spec.Count, spec.Metric, spec.Direction == growth.Maximize, err)

	_, err = gpushare.Parse(map[string]string{"gpushare/gpu-mem": "8Gi", "gpushare/metric": "loss:down"})
	fmt.Println(err)
	// Output:
	// 8GiB 1 accuracy true <nil>
	// annotation gpushare/metric: "loss:down" must end in :min or :max, as in "loss:min"
}

func ExampleUnits() {
	memory, _ := gpushare.ParseMemory("1500Mi")
	fmt.Println(gpushare.Units(memory, growth.GiB))
	// Output:
	// 2
}
