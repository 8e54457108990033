package policy_test

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth/policy"
)

func ExampleName_Validate() {
	fmt.Println(policy.Default, policy.Default.Validate())
	fmt.Println(policy.Name("greedy").Validate())
	// Output:
	// harmless <nil>
	// policy "greedy": one of fair, flowcon-literal, flowcon, qore-dl, harmless
}
