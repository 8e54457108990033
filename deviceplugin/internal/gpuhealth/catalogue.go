package gpuhealth

// Default follows the immediate action in NVIDIA's catalogue of XID errors for Ampere and newer
// (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, drivers up to R580):
//
//	RESTART_APP, IGNORE                                 ignore
//	RESET_GPU, RESTART_BM, RESTART_VM                   unhealthy-until-reset
//	a workflow to decide, CHECK_MECHANICALS, CHECK_UVM  unhealthy
//	not in the catalogue                                unhealthy
//
// There are four exceptions. NVIDIA's workflow for 48 asks for a reset. 109 (context switch timeout, RESET_GPU) and 155
// (NVLink set down by software, RESET_GPU) are only unhealthy: a program can cause the first and an administrator the
// second, and one job must not take a shared GPU from all others permanently. 154, 171 and 172 only
// accompany another error. 167 and 169 have no action yet; their names say fatal and halt.
var Default = Policy{
	Other: Unhealthy,
	ByXID: actionsByXID(map[Action][]uint64{
		Ignore: {
			8, 11, 13, 31, 32, 37, 38, 39, 40, 41, 43, 44, 45, 60, 63, 66, 67, 68, 69, 70, 71, 72, 75, 76, 77, 78, 80,
			82, 83, 84, 85, 86, 88, 89, 92, 93, 94, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 121,
			126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 137, 139, 141, 142, 152, 153, 154, 157, 160, 161, 162,
			163, 164, 165, 171, 172,
		},
		Unhealthy:  {54, 74, 109, 144, 145, 146, 147, 148, 149, 150, 155, 159, 166, 168, 170},
		UntilReset: {46, 48, 62, 64, 79, 95, 110, 119, 120, 136, 140, 143, 151, 156, 158, 167, 169},
	}),
}

func actionsByXID(actions map[Action][]uint64) map[uint64]Action {
	byXID := map[uint64]Action{}
	for action, xids := range actions {
		for _, xid := range xids {
			byXID[xid] = action
		}
	}
	return byXID
}
