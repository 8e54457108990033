package growth

// Unit is the resource in which an amount of work is counted. Work in one unit says nothing about work in another.
type Unit string

const (
	// CoreSecond is the unit of work on CPUs. It is the zero value: records of earlier releases name no unit.
	CoreSecond Unit = ""
	// GPUSecond is the unit of work on GPUs: one GPU for one second.
	GPUSecond Unit = "gpu"
)

// String returns the unit in the plural, as it follows a number.
func (u Unit) String() string {
	if u == GPUSecond {
		return "GPU-seconds"
	}
	return "core-seconds"
}
