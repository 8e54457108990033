// Package api is the document that the tuner serves to people and programs: GET /api/v1/state, one JSON object, and
// with ?watch=1 the same object as server-sent events, one for each change and at most two a second.
//
//	{
//	  "synced": true,                    // false until the bus has been read once
//	  "error":  "the bus is …",          // only while it can not be reached: what follows is the last that was seen
//	  "refused": ["/trellis/v1/…: …"],   // only where records could not be read, such as of a newer version
//	  "nodes": [{"node": "n1", "gpus": NodeGPUs or null, "load": NodeLoad or null}],   // by name
//	  "jobs":  [{"sample": Sample, "advice": Advice or null}]                          // by namespace and name
//	}
//
// NodeGPUs, NodeLoad, Sample and Advice are the records of growth/bus, field for field. Readers written in other
// modules decode what they use into types of their own; testdata/state.json beside the server pins the form.
package api
