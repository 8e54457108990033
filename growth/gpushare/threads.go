package gpushare

// ThreadVariables returns the environment variables with which admission sets the thread pools of numerical libraries to a
// container's CPU share.
func ThreadVariables() []string {
	return []string{
		"OMP_NUM_THREADS",
		"MKL_NUM_THREADS",
		"OPENBLAS_NUM_THREADS",
		"NUMEXPR_NUM_THREADS",
		"RAYON_NUM_THREADS",
		"TF_NUM_INTRAOP_THREADS",
	}
}
