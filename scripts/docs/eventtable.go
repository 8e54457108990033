package main

// explanation is what an event means to a user.
type explanation struct {
	// Reason is the event's reason. A "*" at the end stands for a reason that Kubernetes gives.
	Reason string
	// From is the binary, On the object that the event is about, Type Normal or Warning, and when it is the other one.
	From, On, Type  string
	Meaning, Advice string
}

// explanations lists every event that the binaries record.
var explanations = []explanation{
	{
		Reason: "JobArrived", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job runs. The message names its GPU and memory, what is observed, and whether its CPU request changes.",
		Advice:  "Check that metric, direction and source are the ones that you meant.",
	},
	{
		Reason: "FirstMetric", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job reported its metric for the first time.",
		Advice:  "Nothing to do. If this event does not appear, growth is unknown: look for warnings about the job's log, file or socket.",
	},
	{
		Reason: "JobRestarted", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job started over, for the reason in the message. Its curve and its category are learned again.",
		Advice:  "Nothing to do if the container was restarted without a checkpoint. Otherwise check that the job reports steps that increase.",
	},
	{
		Reason: "JobResumed", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job went back to an earlier step, where its metric is about what it was before. Its curve up to there, its category and its share stay.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "Paused", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The user has paused the job (`gpushare/paused`). It waits between two steps, or is frozen if it does not use the shim (`--freeze`); its time of the GPU and its CPU go to other jobs.",
		Advice:  "`kubectl gpushare resume` lets it continue.",
	},
	{
		Reason: "PausedPartly", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The user has paused the job, but it cannot be stopped, for the reason in the message. It has the least CPU request, and computes with what others leave.",
		Advice:  "Let the job call `gpushare.step`, or install the component `gpu-freezer`. Ranks on several nodes need pods of one owner with one command, or `gpushare/gang`.",
	},
	{
		Reason: "Resumed", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "A paused job continues, with its part of the GPU's time and of the CPU. The time of the pause does not count for or against it.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "Saved", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job saved a checkpoint because its user asked for it (`gpushare/save`), or because its pod is being deleted. The file is complete and on the disk.",
		Advice:  "Nothing to do. The message has the path, the step and the SHA-256.",
	},
	{
		Reason: "SaveFailed", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The job has not saved on request, for the reason in the message. The checkpoint before is as it was.",
		Advice:  "Do what the message says: free space, mount a writable volume, register a save function or a handler of the signal, or raise `terminationGracePeriodSeconds`. Then request it again.",
	},
	{
		Reason: "GangWaits", From: "extender", On: "pod", Type: "Normal",
		Meaning: "Some pods of the job fit. They keep their room until all of them do, for two minutes at most. The message has the numbers.",
		Advice:  "Nothing to do if room becomes free soon. Otherwise ask for less GPU memory, or for fewer pods.",
	},
	{
		Reason: "GangPlaced", From: "extender", On: "pod", Type: "Normal",
		Meaning: "All pods of the job have room. kube-scheduler binds them next.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "GangReleased", From: "extender", On: "pod", Type: "Warning",
		Meaning: "The pods of the job have kept room for two minutes, and release it, for the reason in the message. The job is placed when all of its pods fit.",
		Advice:  "Free GPU memory, ask for less of it or for fewer pods, or do what the scheduler's events say. `gpushare/gang: none` places the pods one by one.",
	},
	{
		Reason: "MoveBegan", From: "extender", On: "pod", Type: "Normal",
		Meaning: "The job is being moved to another node, because its user asks for it (`gpushare/move`), or for the reason in the message. It saves first. For a job of several pods the message says where each goes.",
		Advice:  "Nothing to do. Each step is an event.",
	},
	{
		Reason: "WouldMove", From: "extender", On: "pod", Type: "Normal",
		Meaning: "The job would move to another node, for the reason in the message, if moves were automatic (`--moves=dry-run`).",
		Advice:  "Nothing to do. `kubectl gpushare move` makes such a move, `--moves=automatic` all of them.",
	},
	{
		Reason: "NeverMoves", From: "extender", On: "pod", Type: "Normal",
		Meaning: "Moves without a request are considered in this cluster (`--moves=automatic` or `dry-run`). This job never moves, because its `gpushare/checkpoint` is `none`.",
		Advice:  "Nothing to do. A job that saves its checkpoints by the shim or by a signal can move: see `docs/checkpoints.md`.",
	},
	{
		Reason: "MoveRefused", From: "extender", On: "pod", Type: "Warning",
		Meaning: "The job is not moved, or not to this node, for the reason in the message. It runs on, or its present move goes on, and the annotation `gpushare/move` is removed.",
		Advice:  "Name a node with room, let the job save on request, resume it, or wait until its present move has ended. Then ask again.",
	},
	{
		Reason: "MoveSaved", From: "extender", On: "pod", Type: "Normal",
		Meaning: "The job has saved and waits. Its pod is evicted next, as far as disruption budgets allow.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "MoveEvicted", From: "extender", On: "pod", Type: "Normal",
		Meaning: "The old pod of a job that moves is gone. The event is on the new one, if there is one already.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "MovePlaced", From: "extender", On: "pod", Type: "Normal",
		Meaning: "This pod continues the job of one that was evicted for a move.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "Moved", From: "extender", On: "pod", Type: "Normal; Warning if the job did not continue from its checkpoint",
		Meaning: "The job continues on its new node. The message has the time from the request. If the job did not continue from its checkpoint, it also has both steps and the file.",
		Advice:  "Nothing to do. After a Warning check that the job loads its checkpoint when it starts (`gpushare.resume()`): it has repeated steps.",
	},
	{
		Reason: "MoveAborted", From: "extender", On: "pod", Type: "Warning",
		Meaning: "The move has ended early, for the reason in the message. Before the eviction the job runs on where it is; after it the new pod may run on any node.",
		Advice:  "Do what the message says, and ask again.",
	},
	{
		Reason: "JobEnded", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job's processes ended. The message has its time, last value, mean share and, if known, a comparison with fair sharing. If they failed, it has the exit code and kubelet's reason.",
		Advice:  "Nothing to do, unless the job failed.",
	},
	{
		Reason: "ResourcesRecommended", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job should request another amount of memory, CPU or GPU memory. The message has both amounts, the peak that is expected with an interval, and what that follows from.",
		Advice:  "Change the template of the pod for the next run. With `resources` in `gpushare/tune` Trellis changes the memory request of this run.",
	},
	{
		Reason: "MemoryRequestChanged", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The memory request was changed while the job runs, and kubelet has applied it. The memory limit stays.",
		Advice:  "Nothing to do. It happens only to jobs that allow `resources` in `gpushare/tune`.",
	},
	{
		Reason: "MemoryResizeRefused", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "A change of the memory request was refused by a quota, by the API server or by kubelet, as the message says. The request stays.",
		Advice:  "Nothing to do for this job: the change is tried again later. Raise the quota or the LimitRange that the message names if it should be made.",
	},
	{
		Reason: "MemoryNotTuned", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The memory request is left alone for the reason in the message, although `gpushare/tune` lists `resources`.",
		Advice:  "Change what the message names, or leave it.",
	},
	{
		Reason: "WorkersRecommended", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job should run with another number of workers within `gpushare/elastic`. The message says what that is worth and how that is known.",
		Advice:  "Save a checkpoint and change the parallelism or the replicas of the pod's owner. With `workers` in `gpushare/tune`, and the component `workers`, Trellis does.",
	},
	{
		Reason: "WorkersChanging", From: "extender", On: "pod", Type: "Normal",
		Meaning: "The job gets another number of workers, for the reason in the message. All its pods save first.",
		Advice:  "Nothing to do. Remove `workers` from `gpushare/tune` to keep the number.",
	},
	{
		Reason: "WorkersChanged", From: "extender", On: "pod", Type: "Normal",
		Meaning: "The pod's owner has the new number of workers.",
		Advice:  "Nothing to do if the job's launcher takes in new workers while it runs. At most two changes are made for a job.",
	},
	{
		Reason: "WorkersNotChanged", From: "extender", On: "pod", Type: "Warning",
		Meaning: "A change of the number of workers ended early, or cannot begin, as the message says. The owner is as it was.",
		Advice:  "Change what the message names. The change is tried again after ten minutes at the earliest.",
	},
	{
		Reason: "MetricDirection", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "`gpushare/metric` names a metric without a direction. The message says whether it is minimised or maximised, and why.",
		Advice:  "Write `:min` or `:max` after the name, above all if the message has it the wrong way round.",
	},
	{
		Reason: "MetricNotFinite", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The metric has been NaN or infinite since the step in the message. That is not growth, so the job keeps only what harms no other.",
		Advice:  "Stop the job, or let it continue from a checkpoint before that step. Check its data and its learning rate.",
	},
	{
		Reason: "MetricFinite", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The metric was NaN or infinite and has finite values again. The job's growth counts again.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "MetricRescaled", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The metric jumped by a factor of ten or more and stayed there, which is a change of its scale. Its growth goes on in the new scale.",
		Advice:  "Nothing to do if the job changed its loss, its reduction or its loss scaling at that step. Otherwise look for the cause.",
	},
	{
		Reason: "TargetReached", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The metric reached `gpushare/target`. The job has nothing left to gain, so it keeps only what harms no other.",
		Advice:  "Stop the job, if that value was all that you wanted.",
	},
	{
		Reason: "DeadlineAtRisk", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The job is expected to miss `gpushare/deadline`. The message has by how much, with the interval of 80 %, how much work lacks, and which jobs would have to give way, each with its part of the GPU or of the CPU until then.",
		Advice:  "Nothing, if the deadline is soft. Otherwise give the job a larger `gpushare/priority`, ask the users of the jobs in the message to pause them (`kubectl gpushare pause`), or move the job to a node that the tuner's page names.",
	},
	{
		Reason: "DeadlineInTime", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job's deadline was at risk or infeasible. Now the job is expected to end before it.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "DeadlineInfeasible", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The job would miss its deadline even if it got all that it can use. It keeps its normal share.",
		Advice:  "Create the pod with a later deadline, fewer steps, or more CPU or GPUs.",
	},
	{
		Reason: "DeadlineMet", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job ended, or reached its target, before its deadline.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "DeadlineMissed", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The deadline has passed and the job runs on, or the job ended after it.",
		Advice:  "Read the events DeadlineAtRisk and DeadlineInfeasible of the job for the reason.",
	},
	{
		Reason: "ConvergedKeepsShare", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job has converged but keeps its fair share of the CPU, because nothing predicts when it ends.",
		Advice:  "Report the total number of steps, or create the pod with `gpushare/target`. A later run of the program is predicted once one has ended. Operators have `--converged=floor`.",
	},
	{
		Reason: "PodOfOneJob", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The pod and another one have the same command, and the same owner or `gpushare/gang`, so they are one job with one metric and equal shares on the node.",
		Advice:  "Nothing to do. Pods that are jobs of their own need different commands or owners.",
	},
	{
		Reason: "CategoryChanged", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job's growth moved it to another category: Progressing, Watching or Converged.",
		Advice:  "Nothing to do. A job that converges long before its last step may be worth fewer steps next time.",
	},
	{
		Reason: "CPUShareChanged", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The pod's CPU request was resized in place. The first change is an event; later ones are summarised every five minutes, if they are noticeable.",
		Advice:  "Nothing to do. `kubectl gpushare explain` shows each change and its reason.",
	},
	{
		Reason: "GPUSharedAtTheSameTime", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job computes at the same time as others on its GPU, in a set or all of them, because that was measured to be faster than turns. Recorded once per job.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "GPUTimeMeasured", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job cannot be paused. It is charged the time of its kernels, as the driver measures it, and the other jobs take turns next to it.",
		Advice:  "Let the job use the shim (`import gpushare`), if it should take turns.",
	},
	{
		Reason: "GPUTimeFrozen", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job takes turns by the freezer of cgroups (`--freeze`), because it does not use the shim.",
		Advice:  "Leave `gpu-time` out of `gpushare/tune`, if the job must answer probes or connections at any time.",
	},
	{
		Reason: "GPUCoresNoEffect", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "`gpushare/gpu-cores` has no effect on this job, for the reason in the message.",
		Advice:  "Nothing to do, or remove the annotation.",
	},
	{
		Reason: "GPUTimeChanged", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job takes turns with other jobs on its GPU, with the part of the time in the message. The first turns are an event; later changes are summarised every five minutes, if they are noticeable.",
		Advice:  "Nothing to do. `kubectl gpushare explain` shows the order of the turns and the reason for each change.",
	},
	{
		Reason: "GPUTimeNotDivided", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "All jobs on the GPU compute at the same time, because the job in the message cannot be paused.",
		Advice:  "Let that job use the shim of this release (`import gpushare`) and permit `gpu-time`, if it should take turns.",
	},
	{
		Reason: "TurnOverdue", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The job did not stop in time after its turn of a GPU. The other jobs no longer waited for it. Recorded every five minutes at most.",
		Advice:  "Nothing to do while the job compiles. Otherwise report shorter steps, or call `gpushare.idle()` before long work that needs no GPU.",
	},
	{
		Reason: "TurnIgnored", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The kernels of the job run while other jobs have the turn, as the driver measures. The job is charged the time of its kernels. Recorded every five minutes at most.",
		Advice:  "Do no work on the GPU in `gpushare.idle()` and `gpushare.timed()`, and none in processes of the pod that do not call `gpushare.step`.",
	},
	{
		Reason: "CPUNotTuned", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The pod's CPU request stays as it is, for the reason in the message.",
		Advice:  "Remove what the message names if the job should share CPU; otherwise nothing to do.",
	},
	{
		Reason: "Resize*", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "Kubelet has not applied a CPU resize yet. The reason ends as the pod's condition PodResizePending does, as in ResizeDeferred.",
		Advice:  "Deferred resizes are applied when the node has room. If it lasts, compare the CPU requests of all pods with the node's allocatable CPU.",
	},
	{
		Reason: "ResizeInfeasible", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "Kubelet will never apply a CPU resize. The request goes back to what is in force, and the coordinator waits before it asks again.",
		Advice:  "The message quotes kubelet. Usual causes are a quota, a limit below the request, and a node that has shrunk.",
	},
	{
		Reason: "ResizeFailed", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The API server did not accept a CPU resize. The job keeps its present request.",
		Advice:  "Read the error in the message: admission webhooks and quotas may reject updates of pods/resize.",
	},
	{
		Reason: "LoadersChanged", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job acknowledged another number of data-loader workers.",
		Advice:  "Nothing to do. `gpushare/tune: cpu` keeps the number of workers fixed.",
	},
	{
		Reason: "LoadersLimited", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The job would be faster with another data-loader worker, and cores are free, but its `/dev/shm` may be too small.",
		Advice:  "Mount an `emptyDir` with `medium: Memory` at `/dev/shm`: see [data loaders](../data-loaders.md#shared-memory).",
	},
	{
		Reason: "BatchSizeChanged", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job acknowledged another batch size.",
		Advice:  "Nothing to do. It happens only to jobs that allow `batch-size` in `gpushare/tune`.",
	},
	{
		Reason: "BatchSizeTried", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "The job is offered the batch size that the tuner advises. The message has the predicted gain.",
		Advice:  "Nothing to do. It happens only to jobs that allow `batch-size` in `gpushare/tune`: see [batch size](../batch-size.md).",
	},
	{
		Reason: "BatchSizeKept", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "A batch size that was tried made the job no worse, and stays.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "BatchSizeRolledBack", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "A batch size that was tried made the job worse. The job goes back to the one before.",
		Advice:  "Nothing to do. Leave `batch-size` out of `gpushare/tune` to prevent further trials.",
	},
	{
		Reason: "MetricMissing", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "At least 50 reports in 2 minutes or more have metrics, but not the one that `gpushare/metric` names, so its growth is unknown.",
		Advice:  "Name one of the metrics in the message, or report the metric in `gpushare.step(...)`.",
	},
	{
		Reason: "AnnotationsChanged", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "A user has changed annotations of the running pod. The message says which of them count from now on, and which from the job's next pod.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "BadAnnotation", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "An annotation has an invalid value that admission could not recognise. The job runs, but its share is not tuned. If the value was changed on the running pod, the job keeps what it had.",
		Advice:  "Correct the annotation as the message says.",
	},
	{
		Reason: "UnknownAnnotation", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "An annotation `gpushare/…` of a pod that is older than the admission policies has no meaning and no effect.",
		Advice:  "Write the name that the message proposes and create the pod again.",
	},
	{
		Reason: "OtherScheduler", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The pod names another scheduler than `trellis`, which may have placed it without regard to GPUs and jobs.",
		Advice:  "Leave `schedulerName` out, unless that scheduler calls the extender.",
	},
	{
		Reason: "BadLines", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The job sent lines on its socket that are not messages of the protocol.",
		Advice:  "Use the mounted shim. If the job writes to the socket itself, compare its lines with package growth/wire.",
	},
	{
		Reason: "TooManyLines", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The job reports too often, and some of its lines were dropped.",
		Advice:  "Report once a step or less often. The shim limits the rate by itself.",
	},
	{
		Reason: "ProgressUnreadable", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The file that `gpushare/progress` names, or the container's log, is unreadable. The job gets the share of fair sharing.",
		Advice:  "Check that the job writes the file, and that the cluster has the component `deploy/components/file-progress`. For a log, the message names what the coordinator must mount.",
	},
	{
		Reason: "LogUnmatched", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The job has written many lines, or lines for two minutes, and none of them has a report. The message shows one of them.",
		Advice:  "Compare the line in the message with the expression in `gpushare/progress`, and correct the annotation for the next run.",
	},
	{
		Reason: "LogFormatUnknown", From: "coordinator", On: "pod", Type: "Warning",
		Meaning: "The container runtime writes the log in a format that Trellis does not read. The message names what it looks like.",
		Advice:  "Report through the shim (`gpushare/progress: socket`) or through a file, or set the container runtime's log driver to json-file.",
	},
	{
		Reason: "OtherGPU", From: "coordinator", On: "pod", Type: "Normal",
		Meaning: "Kubelet allocated another GPU than the scheduler had reserved. The annotation `gpushare/gpu` now names the real one.",
		Advice:  "Nothing to do for a single event: no memory is allocated twice. For many, see [operations](../operations.md).",
	},
	{
		Reason: "GPUMemoryExceeded", From: "deviceplugin", On: "pod", Type: "Warning",
		Meaning: "The job uses more GPU memory than it requested, so other jobs on that GPU may run out of memory.",
		Advice:  "Ask for more memory, or limit the framework's memory.",
	},
	{
		Reason: "GPUUnhealthy", From: "deviceplugin", On: "node, pods on the GPU", Type: "Warning",
		Meaning: "A GPU takes no new jobs, for the reason in the message. Jobs that run on it are left alone.",
		Advice:  "Look up the XID error or the driver's state. `--xid-policy` changes which errors count.",
	},
	{
		Reason: "GPUHealthy", From: "deviceplugin", On: "node, pods on the GPU", Type: "Normal",
		Meaning: "A GPU that was unhealthy, or cordoned, takes new jobs again.",
		Advice:  "Nothing to do.",
	},
	{
		Reason: "DevicesForgotten", From: "deviceplugin", On: "pod", Type: "Warning",
		Meaning: "Kubelet has lost its checkpoint, and with it the record of the pod's GPU memory. The pod runs on, and no other pod gets the memory.",
		Advice:  "Find out why the file was lost. If a container of the pod ends, restart kubelet, so that it can start again: see [operations](../operations.md).",
	},
	{
		Reason: "StaysFailed", From: "extender", On: "pod", Type: "Warning",
		Meaning: "Kubelet rejected a bare pod, and Trellis does not recreate it, because it may have run. The message names what shows it.",
		Advice:  "If the pod has not run, or may run again from the start, delete it and create it again.",
	},
	{
		Reason: "Resubmitted", From: "extender", On: "pod", Type: "Normal",
		Meaning: "Kubelet rejected a bare pod before it ran, for the reason in the message. Trellis recreated the pod.",
		Advice:  "Nothing to do after a restart of kubelet. For want of a resource, ask for less or free some. The annotation `gpushare/refusals` counts the rejections.",
	},
}
