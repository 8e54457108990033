// Package api defines the document that the tuner serves at GET /api/v1/state: one JSON object. With ?watch=1 the
// same object is sent as server-sent events: one for each change, at most two per second. While nothing changes, an event named
// heartbeat comes each 15 to 30 s, with no object.
//
//	{
//	  "synced": true,                    // false until the bus has been read once
//	  "error":  "the bus is …",          // only while the bus is unavailable: the rest is the last known state
//	  "refused": ["/trellis/v1/…: …"],   // only if there are undecodable records, such as those of a newer version
//	  "nodes": [{"node": "n1", "gpus": NodeGPUs or null, "load": NodeLoad or null}],   // by name
//	  "jobs":  [{"sample": Sample, "advice": Advice or null}]                          // by namespace and name
//	}
//
// A job with several pods has one entry per pod. That with pods is the job's; the others have partOf.
//
// The field resources of Advice has what a job should request: CPU, memory and GPU memory, each with the interval in which 80 %
// of such peaks are, and before the first step the time of a step. The field gpuMemory of Sample has the most GPU memory that the
// job has used, next to what it requested.
//
// The field deadline of a Sample has, for a job at risk to miss its deadline, which jobs of its node would have to give way
// (giveWay). On the entry, elsewhere names other nodes on which it would be in time, if it fits there.
//
// NodeGPUs, NodeLoad, Sample and Advice are the records of package growth/bus. Clients in other modules decode the
// fields that they need into their own types. internal/web/testdata/state.json is an example, which a test checks.
//
// GET /api/v1/interference returns Interference: what was learned about jobs that share GPUs, and what is predicted for
// all measured sets. With ?own=<kind>&others=<kind>,<kind> it also predicts the slowdown of one job next to others.
//
// GET /api/v1/programs returns Programs: the cluster's history of programs, with ?namespace=<name> of one namespace. With
// ?program=<namespace>:<digest> it also has the runs of that program.
//
// GET /api/v1/moves?namespace=<name> returns the last moves of the jobs of a namespace, 1000 at most, as lines of text with tabs between
// the fields, in the order in which they ended. With &job=<kind>/<name> or &job=<pod> it returns those of the jobs of a controller, or of
// the job that has had that pod. The fields are the namespace, the names of the job's last pods with commas between them, its controller
// (Job/train, or empty), and those of the annotation gpushare/moves: when it ended, from and to which node, state, seconds, reason. The
// seconds of a move that is done have its parts: "8.1 (save 1.0, replace 3.1, start 2.0, restore 2.0)".
package api
