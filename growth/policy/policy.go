package policy

import "fmt"

// Name is the name of a policy.
type Name string

const (
	// Fair gives every job the same share. It is the baseline of all comparisons.
	Fair Name = "fair"
	// FlowConLiteral follows the text of the FlowCon thesis.
	FlowConLiteral Name = "flowcon-literal"
	// FlowCon is the corrected reading of the same algorithm.
	FlowCon Name = "flowcon"
	// QoreDL adjusts shares by the four cases of the Qore-DL paper.
	QoreDL Name = "qore-dl"
	// Harmless prefers growing jobs within the slack that delays no job beyond its end under fair sharing.
	Harmless Name = "harmless"
)

// Validate returns an error for a name that is not one of the constants.
func (n Name) Validate() error {
	switch n {
	case Fair, FlowConLiteral, FlowCon, QoreDL, Harmless:
		return nil
	}
	return fmt.Errorf("policy %q: one of %s, %s, %s, %s, %s", string(n), Fair, FlowConLiteral, FlowCon, QoreDL, Harmless)
}
