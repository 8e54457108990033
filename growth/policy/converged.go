package policy

import "fmt"

// Converged is what a converged job of unknown size can claim under Harmless.
type Converged string

const (
	// ConvergedFair is its fair share. It ends no later than under fair sharing.
	ConvergedFair Converged = "fair"
	// ConvergedFloor is the least that the policy gives, and what no other job can use. It ends later.
	ConvergedFloor Converged = "floor"
)

// Validate returns an error for a value that is not one of the constants. Empty means ConvergedFair.
func (c Converged) Validate() error {
	switch c {
	case "", ConvergedFair, ConvergedFloor:
		return nil
	}
	return fmt.Errorf("converged %q: %s or %s", string(c), ConvergedFair, ConvergedFloor)
}
