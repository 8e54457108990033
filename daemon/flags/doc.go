// Package flags reads the configuration of a binary from its command line and its environment, by the same rules.
//
//   - The flag --foo-bar also reads the environment variable TRELLIS_FOO_BAR.
//   - The command line overrides the environment. A variable that is empty counts as unset.
//   - Both are parsed alike. A boolean accepts what strconv.ParseBool accepts, so TRELLIS_RECREATE=1 is true.
//   - All invalid values are reported together.
//   - A flag that was renamed is accepted under its old name, and so is its old variable.
//
// [Set.Env] adds a variable that Kubernetes users expect, such as NODE_NAME. [Set.CommandLineOnly] is for flags that
// ask for an action instead of configuring the process, such as --version.
package flags
