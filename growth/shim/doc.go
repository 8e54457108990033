// Package shim holds gpushare.py, the one file through which a training job and
// the coordinator of its node talk.
//
// The file is Python, standard library only, 3.8 or newer. The device plugin
// writes it into the directory that a container sees as /run/gpushare (on the
// container's PYTHONPATH), next to the coordinator's socket. A job then says
//
//	import gpushare
//	gpushare.step(loss=loss.item(), samples=len(batch))
//
// once per training step. That is all the cooperation Trellis asks for; loaders,
// batch_size, changed, save_requested, saved and timed are there for jobs which
// want to be tuned while they run, or moved.
//
// # What it guarantees the job
//
// A call costs a few microseconds and never waits for the agent: a daemon thread
// owns the socket, and a step only adds to one small aggregate, reported at most
// ten times a second. An agent that is absent, restarted, silent, deaf or hostile
// changes nothing for the training, nor does a fork. The one intended wait is the
// duty gate: below duty 1 a step of compute time c is followed by a sleep of
// c·(1/duty − 1), smoothed and outliers clipped, so that computing takes the share duty of
// the time. The gate opens by itself when no agent has been there for 30 s.
//
// # The wire, version 1
//
// Newline-delimited JSON, at most 64 KiB a line, both ways; each line has "v":1 and
// a "type". The module's docstring lists the fields; testdata holds lines of every
// type, exactly as the shim writes them (progress, ack, saved) or as it must
// understand them (config, duty, save, and config-previous of the previous release) or must ignore them (ignored). Times are seconds;
// step_seconds and load_seconds are means per step since the last report, the
// former with the latter included and the gate's sleep left out, and 0 where the
// duration of no step is known yet. Metrics that are not finite are left out, since
// JSON can not say NaN.
//
// A config is a patch: loaders or a batch size that it does not name stay. A duty
// message sets the duty. The generations of configs and the sequence numbers of
// duties count within one connection, because an agent that was restarted may start
// over. Package wire says how this shim and an agent of the previous release work
// together, and the reverse. An ack follows
// once the job has fetched every value that differs from what it last fetched, at
// once if none does; so a job which never asks for its batch size never
// acknowledges one.
package shim
