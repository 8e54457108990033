"use strict";

// All text from the state is set as text, never as markup.
const $ = id => document.getElementById(id);
const growthHistory = new Map(); // growth over time by pod UID, since the page was opened
const HISTORY = 120; // points per job
const FEW_NODES = 8; // that are shown above the jobs

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const cores = milli => (milli / 1000).toFixed(2);
const memory = mib => mib >= 1024 ? (mib / 1024).toFixed(mib % 1024 ? 1 : 0) + " GiB" : mib + " MiB";
const short = uuid => uuid.length > 12 ? "…" + uuid.slice(-8) : uuid;
const number = x => x === 0 ? "0" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? x.toPrecision(4) : x.toExponential(2);
const percent = share => `${Math.round(100 * (share || 0))}%`;
const bar = (value, max) => make("progress", { value: Math.min(value, max), max: Math.max(max, 1e-9) });

// shareBar shows the parts of one GPU's time that its jobs have: a bar of one piece per job, in the order of their names.
function shareBar(jobs) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "shares");
  svg.setAttribute("viewBox", "0 0 100 1");
  svg.setAttribute("preserveAspectRatio", "none");
  let x = 0;
  jobs.forEach(({ pod, gpuTime }, i) => {
    const piece = document.createElementNS(svg.namespaceURI, "rect");
    for (const [name, value] of Object.entries({ x, width: 100 * gpuTime.share, height: 1, class: "share" + i % 4 })) piece.setAttribute(name, value);
    const title = document.createElementNS(svg.namespaceURI, "title");
    title.textContent = `${pod.namespace}/${pod.name} ${percent(gpuTime.share)}`;
    piece.append(title);
    svg.append(piece);
    x += 100 * gpuTime.share;
  });
  return svg;
}

// gpuShares shows the jobs that share the time of a GPU; nothing if no job does.
function gpuShares(uuid, samples) {
  const jobs = samples.filter(s => s.gpuTime && (s.gpus || []).includes(uuid));
  if (jobs.length === 0) return [];
  jobs.sort((a, b) => a.pod.name < b.pod.name ? -1 : 1);
  return [shareBar(jobs), make("small", {}, jobs.map(s => `${s.pod.name} ${percent(s.gpuTime.share)}`).join(" · "))];
}

function nodeCard({ node, gpus, load }, samples) {
  const head = make("header", {}, make("h2", {}, node));
  if (gpus && gpus.emulated) head.append(make("span", { class: "badge", title: "these GPUs have no hardware" }, "emulated GPUs"));
  const card = make("article", {}, head);
  if (load) {
    card.append(make("div", {}, `CPU ${cores(load.cpuUsedMilli)} cores used, ${cores(load.cpuPoolMilli)} guaranteed`,
      make("span", { class: "dim" }, ` · ${load.loaderBudget} for loaders · policy ${load.policy}`)), bar(load.cpuUsedMilli, load.cpuPoolMilli));
  } else {
    card.append(make("div", { class: "dim" }, "no report from its coordinator"));
  }
  const list = make("ul");
  for (const gpu of (gpus && gpus.gpus) || []) {
    list.append(make("li", { title: gpu.uuid }, `${gpu.model || "GPU"} · ${memory(gpu.memoryMiB)} `,
      make("span", { class: "dim" }, short(gpu.uuid)), gpu.healthy ? "" : make("span", { class: "badge bad" }, "unhealthy"),
      ...gpuShares(gpu.uuid, samples)));
  }
  if (!gpus) list.append(make("li", { class: "dim" }, "no report from its device plugin"));
  card.append(list);
  return card;
}

// remember adds the growth of each job to its history, and forgets that of jobs that are gone.
function remember(jobs) {
  const present = new Set(jobs.map(({ sample }) => sample.pod.uid));
  for (const uid of growthHistory.keys()) if (!present.has(uid)) growthHistory.delete(uid);
  for (const { sample } of jobs) {
    const points = growthHistory.get(sample.pod.uid) || [];
    points.push(sample.growth || 0);
    if (points.length > HISTORY) points.shift();
    growthHistory.set(sample.pod.uid, points);
  }
}

function growthChart(uid) {
  const points = growthHistory.get(uid) || [];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${HISTORY} 24`);
  svg.setAttribute("preserveAspectRatio", "none");
  const line = document.createElementNS(svg.namespaceURI, "polyline");
  line.setAttribute("points", points.map((g, i) => `${i},${(23 - 22 * Math.min(1, Math.max(0, g))).toFixed(1)}`).join(" "));
  line.setAttribute("vector-effect", "non-scaling-stroke");
  svg.append(line);
  return svg;
}

function loaders(sample, advice) {
  const applied = sample.loaders === undefined ? "–" : String(sample.loaders);
  const advised = advice && advice.loaders !== undefined ? String(advice.loaders) : "–";
  return make("td", { class: "n" + (advised !== "–" && advised !== applied ? " pending" : "") }, `${advised} / ${applied}`);
}

// gpuTime shows which part of the GPU's time a job has, what it did in the last interval, and its speed next to jobs that leave it gaps.
function gpuTime(time) {
  if (!time) return make("td", {}, "–");
  const computed = `computed ${percent(time.heldShare)}${time.measured ? "" : " (assumed)"}`;
  return make("td", {}, percent(time.share), bar(time.share, 1),
    make("small", { title: "in the last interval; a job that is not paused computes at the same time as others; speed: relative to computing alone" },
      computed, make("br"), time.paused ? `waited ${percent(time.waitedShare)}` : "not paused",
      ...(time.pace > time.share + 0.05 ? [make("br"), `speed ${percent(time.pace)}`] : [])));
}

// lateness words by how much a job is expected to end after its deadline.
function lateness(seconds) {
  const size = Math.abs(seconds);
  const text = size < 120 ? `${size.toFixed(0)} s` : size < 10800 ? `${(size / 60).toFixed(0)} min` : `${(size / 3600).toFixed(1)} h`;
  return seconds > 0 ? `${text} late` : `${text} early`;
}

// givesWay words which jobs of the node would have to give way for a job at risk.
function givesWay(give) {
  if (!give || give.lacking < 0.5) return [];
  const unit = give.unit ? "of a GPU" : "cores";
  const jobs = (give.jobs || []).map(job => `${job.pod.namespace}/${job.pod.name} (${cores(job.partMilli)} ${unit})`);
  if (jobs.length === 0) return ["no jobs of this node could give enough"];
  return [give.pause ? `in time if these were paused: ${jobs.join(", ")}` : `could give way, within 5 % of their time: ${jobs.join(", ")}`];
}

// dueBy shows the deadline of a job and its status, and for a job at risk what would help.
function dueBy(deadline, elsewhere) {
  if (!deadline) return "";
  const help = givesWay(deadline.giveWay);
  if (elsewhere) help.push(`in time with an equal part on ${elsewhere.map(spare => `${spare.node} (${lateness(-spare.earlySeconds)})`).join(", ")}, if it fits there`);
  const late = deadline.lateBySeconds;
  return make("small", { class: ["at risk", "infeasible", "missed"].includes(deadline.status) ? "bad" : "", title: `deadline ${deadline.at}` },
    `deadline: ${deadline.status}`, ...(late ? [`, ${lateness(late.likely)}`, make("br"), `80 %: ${lateness(late.low)} – ${lateness(late.high)}`] : []),
    ...help.flatMap(text => [make("br"), text]));
}

// localDay and localTime word a time by the viewer's clock; a time of another day than a given one with its day.
const two = n => String(n).padStart(2, "0");
const localDay = at => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
function localTime(text, day) {
  const at = new Date(text);
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return localDay(at) === localDay(day) ? clock : `${localDay(at)} ${clock}`;
}

// ends shows when a job is expected to end, the interval in which 80 % of such jobs end, and the status of its deadline.
function ends(eta, deadline, elsewhere) {
  if (!eta) return make("td", { class: "ends" }, "–", dueBy(deadline, elsewhere));
  const utc = `${eta.likely}, 80 %: ${eta.low} – ${eta.high}`;
  return make("td", { class: "ends", title: `UTC: ${utc}; if no further job arrives, for the shares that docs/policies.md describes under Expected ends` },
    localTime(eta.likely, new Date()),
    make("small", {}, make("span", {}, `80 %: ${localTime(eta.low, new Date(eta.likely))}`), " – ",
      make("span", {}, localTime(eta.high, new Date(eta.likely)))), dueBy(deadline, elsewhere));
}

// requests shows what a job should request, with the interval of its peak; nothing if that is unknown.
function requests(advice) {
  const r = (advice && advice.resources) || {};
  const parts = [];
  if (r.memoryMiB) parts.push(`memory ${memory(r.memoryMiB.request)} (${memory(r.memoryMiB.low)}–${memory(r.memoryMiB.high)})`);
  if (r.cpuMilli) parts.push(`CPU ${cores(r.cpuMilli.request)} (${cores(r.cpuMilli.low)}–${cores(r.cpuMilli.high)})`);
  if (r.gpuMemoryMiB) parts.push(`GPU ${memory(r.gpuMemoryMiB.request)} (${memory(r.gpuMemoryMiB.low)}–${memory(r.gpuMemoryMiB.high)})`);
  const applied = "Only memory is applied, to jobs with resources in gpushare/tune: the policy sets the CPU request.";
  return parts.length ? make("div", { title: `from ${r.reason}. ${applied}` }, "recommended requests: " + parts.join(" · ")) : "";
}

// stepTime shows the predicted time of a step, with its interval; nothing if that is unknown.
function stepTime(advice) {
  const { stepSeconds: step, stepsSeen: seen } = (advice && advice.resources) || {};
  if (!step) return "";
  const from = seen ? `corrected by ${seen} of the job's own measurements` : "before the job's first measurement";
  return make("div", { title: "at the job's most recent share, with waits for data and turns; the interval contains 80 % of the next mean times" },
    `predicted time of a step: ${number(step.likely)} s (${number(step.low)}–${number(step.high)}), ${from}`);
}

// gpuMemory shows the most memory that a job has used on a GPU, next to what it requested; nothing if that is unknown.
function gpuMemory(use) {
  if (!use) return "";
  const requested = use.requestedMiB ? ` of ${memory(use.requestedMiB)} requested (${percent(use.peakMiB / use.requestedMiB)})` : "";
  return make("div", { title: use.measured ? "measured by the driver" : "reserved by the job's framework, with an allowance for the driver" },
    `GPU memory: ${memory(use.peakMiB)} used at most${requested}`);
}

// batchSizes shows the goodput of a job by batch size: in bold what was measured, relative to the present size.
function batchSizes(sample, advice, goodput) {
  const now = (goodput || []).find(value => value.batch === sample.batchSize);
  if (!now || !(now.goodput > 0)) return "";
  const line = make("div", { title: "goodput by batch size, relative to the present one; bold: measured" }, "batch size ");
  for (const value of goodput.filter(v => v.measured || v.batch === (advice && advice.batchSize))) {
    line.append(make(value.measured ? "strong" : "span", {}, `${value.batch}: ${percent(value.goodput / now.goodput)}`), " ");
  }
  if (advice && advice.batchReason) line.append(`advised ${advice.batchSize}: ${advice.batchReason}`);
  return line;
}

// podLine shows one pod of a job with several.
function podLine({ pod, node, gpus }) {
  return make("small", { title: (gpus || []).join(" ") }, `${pod.name}: ${node}`);
}

// jobRows returns the row of a job and, below it, the reason for its advice.
function jobRows({ sample, advice, goodput, pods, elsewhere }) {
  const name = make("td", {}, make("strong", {}, `${sample.pod.namespace}/${sample.pod.name}`),
    ...(pods ? [make("small", { title: "the pods of this job" }, `${pods.length} pods`)] : []));
  const reason = make("td", { colspan: 12 }, (advice && advice.reason) || "", batchSizes(sample, advice, goodput),
    gpuMemory(sample.gpuMemory), requests(advice), stepTime(advice));
  const made = Math.max(sample.step, sample.stepsDone || 0); // the total is that of the job, the number of a step may be that of an epoch
  const step = make("td", { class: "n" }, sample.totalSteps ? `${made} / ${sample.totalSteps}` : String(sample.step));
  if (sample.totalSteps) step.append(bar(made, sample.totalSteps));
  const gpus = (sample.gpus || []).map(short).join(", ");
  return [make("tr", {}, name,
    pods ? make("td", {}, ...pods.map(podLine)) : make("td", {}, sample.node, make("small", { title: (sample.gpus || []).join(" ") }, gpus)),
    step,
    make("td", { class: "n" }, sample.reported ? `${sample.metric} ${number(sample.value || 0)}` : "–"),
    make("td", {}, `${(sample.growth || 0).toFixed(2)}`, growthChart(sample.pod.uid)),
    make("td", {}, make("span", { class: "pill " + sample.category }, sample.category || "–"), sample.paused ? make("small", {}, " paused") : ""),
    ends(sample.eta, sample.deadline, elsewhere),
    gpuTime(sample.gpuTime),
    make("td", {}, `${cores(sample.cpuUsedMilli)} / ${cores(sample.cpuRequestMilli)}`,
      bar(sample.share, 1), make("small", {}, `share ${percent(sample.share)}`)),
    make("td", { class: "n" }, sample.samplesPerSecond ? sample.samplesPerSecond.toFixed(0) : "–"),
    loaders(sample, advice),
    make("td", { class: "n" }, sample.memoryUsedMiB ? memory(sample.memoryUsedMiB) : "–")), make("tr", { class: "reason" }, reason)];
}

function setStatus(text, bad) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

function count(n, noun) { return `${n} ${noun}${n === 1 ? "" : "s"}`; }

// show shows what the search finds in a state. On a cluster with many nodes the jobs come first.
function show(state) {
  const text = $("search").value;
  const found = find(state, text);
  const byNode = Map.groupBy(state.jobs.map(job => job.sample), sample => sample.node);
  $("nodes").replaceChildren(...found.nodes.map(node => nodeCard(node, byNode.get(node.node) || [])));
  $("jobs").replaceChildren(...found.jobs.flatMap(jobRows));
  document.body.classList.toggle("many", found.allNodes > FEW_NODES);
  $("empty").hidden = state.jobs.length > 0 || !state.synced;
  $("more").hidden = found.foundJobs === found.jobs.length && found.foundNodes === found.nodes.length && !(text && found.foundJobs === 0);
  $("more").textContent = found.foundJobs === 0 ? "No job has all of these words." :
    `${found.jobs.length} of ${count(found.foundJobs, "job")} and ${found.nodes.length} of ${count(found.foundNodes, "node")} are shown: search for others.`;
  if (state.error) setStatus(state.error, true);
  else if (!state.synced) setStatus("waiting for the state bus …", false);
  else if (state.refused) setStatus(`${count(state.refused.length, "undecodable record")} ignored: ${state.refused[0]}`, true);
  else setStatus(`${count(found.allJobs, "job")} on ${count(found.allNodes, "node")}`, false);
}

// The search is a part of the page's address, so that it can be passed on.
let last; // state
try {
  $("search").value = decodeURIComponent(location.hash.slice(1));
} catch { /* an address that was cut off */ }
$("search").addEventListener("input", () => {
  history.replaceState(null, "", "#" + encodeURIComponent($("search").value));
  if (last) show(last);
});

const RETRY = 5 * 1000; // milliseconds before another connection
const SILENCE = 45 * 1000; // milliseconds without an event after which a connection is lost; the server sends one each 15 to 30 s

// follow shows the state as it changes. A browser connects again by itself only after a broken connection: not after an error
// of the server or of a proxy, and not while a dead connection looks open.
function follow() {
  const events = new EventSource("api/v1/state?watch=1");
  let silence;
  const unreachable = () => setStatus("the tuner is not reachable, trying again …", true);
  const again = () => {
    clearTimeout(silence);
    events.close();
    setTimeout(follow, RETRY);
  };
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => { unreachable(); again(); }, SILENCE);
  };
  events.onmessage = event => {
    heard();
    last = JSON.parse(event.data);
    remember(last.jobs);
    show(last);
  };
  events.addEventListener("heartbeat", heard);
  events.onerror = () => {
    unreachable();
    if (events.readyState === EventSource.CLOSED) again();
  };
  heard();
}

follow();
