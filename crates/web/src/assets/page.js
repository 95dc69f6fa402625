"use strict";
// What moves: live runs, the cross-hair over a chart, and zoom into a part of its time. Every number and every drawing
// comes from the server; without this script stored runs read the same.

// Gives an element the shape of another and keeps what is there: focus, selection, what a reader opened.
const KEPT = ["tabindex", "open", "checked"];
function patch(node, to) {
  for (const { name } of [...node.attributes]) {
    if (!to.hasAttribute(name) && !KEPT.includes(name) && !(node.tabIndex === 0 && /^(role|aria-)/.test(name))) node.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  patchChildren(node, to);
}
function patchChildren(node, to) {
  // What this script has put there stays.
  const old = [...node.childNodes].filter((child) => !child.dataset?.own);
  for (const child of [...to.childNodes]) {
    const at = old.shift();
    if (!at) node.append(child);
    else if (at.nodeType !== child.nodeType || at.nodeName !== child.nodeName) at.replaceWith(child);
    else if (at.nodeType === Node.ELEMENT_NODE) patch(at, child);
    else if (at.nodeValue !== child.nodeValue) at.nodeValue = child.nodeValue;
  }
  old.forEach((child) => child.remove());
}
function patchHtml(node, html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  patchChildren(node, holder.content);
}

// Live runs: the server sends what is new of the page once a second: of a part that is known, what makes the new one of it.
function edited(before, edits) {
  let at = 0, text = "";
  for (let i = 1; i < edits.length; i += 3) {
    text += before.slice(at, at + edits[i]) + edits[i + 2];
    at += edits[i] + edits[i + 1];
  }
  return text + before.slice(at);
}
function follow(runs) {
  const known = new Map();
  // What the page came with: a run may have begun since.
  let shown = runs.dataset.shown ?? null;
  const source = new EventSource(runs.dataset.live);
  const gone = document.createElement("p");
  gone.className = "banner";
  gone.setAttribute("role", "status");
  gone.textContent = "The server does not answer. Runs go on without it; below is what was known last.";
  source.onerror = () => { runs.before(gone); };
  source.onopen = () => { gone.remove(); };
  source.onmessage = async (message) => {
    const frame = JSON.parse(message.data);
    for (const [id, sent] of Object.entries(frame.parts)) {
      if (typeof sent === "string") known.set(id, sent);
      else if (known.get(id)?.length === sent[0]) known.set(id, edited(known.get(id), sent));
      // Something was missed: a new stream begins with all of it.
      else { source.close(); follow(runs); return; }
    }
    const list = frame.runs.join(" ");
    if (runs.dataset.reload) {
      const run = runs.dataset.reload;
      if (!frame.runs.includes(run + " true")) { source.close(); location.reload(); return; }
    } else if (shown !== null && shown !== list) {
      const answer = await fetch(runs.dataset.list);
      if (answer.ok) patchHtml(runs, await answer.text());
    }
    shown = list;
    for (const id of Object.keys(frame.parts)) {
      const part = document.getElementById(id);
      // What a reader has zoomed into stays until the whole time is shown again.
      if (!part || part.querySelector(".over-time.held")) continue;
      patchHtml(part, known.get(id));
      for (const chart of part.querySelectorAll(".over-time")) chart.valuesKey = null;
      reach(part.querySelectorAll(".over-time"));
      offerFiles(part.parentElement);
      if (part.matches(".live-charts")) again();
    }
    const going = frame.runs.filter((run) => run.endsWith(" true")).length;
    if (runs.dataset.list) document.title = (going === 0 ? "No run" : going === 1 ? "1 run" : going + " runs") + " · Assay";
  };
}

// Charts over time.
const runOf = (chart) => chart.closest("[data-run]")?.dataset.run;
const SVG = "http://www.w3.org/2000/svg";

// A chart is drawn for wide pages and for narrow ones; the page shows one.
const drawing = (chart) => [...chart.querySelectorAll("svg")].find((svg) => svg.getClientRects().length > 0);

function geometry(svg) {
  const number = (name) => parseFloat(svg.dataset[name]);
  const [from, to, left, right, floor] = ["from", "to", "left", "right", "floor"].map(number);
  const width = svg.viewBox.baseVal.width;
  const x = (event) => {
    const box = svg.getBoundingClientRect();
    return Math.min(right, Math.max(left, (event.clientX - box.left) / box.width * width));
  };
  return { from, to, left, right, floor, x, time: (at) => from + (at - left) / (right - left) * (to - from),
    at: (time) => left + (time - from) / (to - from) * (right - left) };
}

async function values(chart, svg) {
  const key = svg.dataset.from + " " + svg.dataset.to;
  if (chart.valuesKey === key) return chart.values;
  chart.valuesKey = key;
  chart.values = null;
  const range = "&from=" + svg.dataset.from + "&to=" + svg.dataset.to;
  const answer = await fetch("/runs/" + runOf(chart) + "/values?test=" + chart.dataset.test + range);
  if (answer.ok) chart.values = await answer.json();
  return chart.values;
}

function mark(svg, name, attributes) {
  let shape = svg.querySelector("." + name);
  if (!shape) {
    shape = document.createElementNS(SVG, name === "cross" ? "line" : "rect");
    shape.classList.add(name);
    shape.dataset.own = "yes";
    svg.append(shape);
  }
  for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
}

function nearest(times, time) {
  let best = 0;
  times.forEach((t, i) => { if (Math.abs(t - time) < Math.abs(times[best] - time)) best = i; });
  return best;
}

function row(parent, name, value) {
  const line = document.createElement("div");
  const left = document.createElement("span"), right = document.createElement("span");
  left.textContent = name;
  right.textContent = value;
  line.append(left, right);
  parent.append(line);
}

function showValues(chart, svg, time) {
  let box = chart.querySelector(".values");
  if (!box) {
    box = document.createElement("div");
    box.className = "values";
    box.dataset.own = "yes";
    box.setAttribute("role", "status");
    chart.append(box);
  }
  box.hidden = !chart.values;
  if (!chart.values) return;
  const of = geometry(svg);
  box.textContent = "";
  const head = document.createElement("b");
  head.textContent = time.toFixed(1) + " s";
  box.append(head);
  for (const lane of chart.values.lanes) {
    for (const line of lane.lines) {
      if (!line.t.length) continue;
      const name = lane.lines.length > 1 ? lane.title + ", " + line.name : lane.title;
      row(box, name, line.v[nearest(line.t, time)]);
    }
  }
  mark(svg, "cross", { x1: of.at(time), x2: of.at(time), y1: 36, y2: of.floor });
  const share = of.at(time) / svg.viewBox.baseVal.width;
  const px = share * svg.getBoundingClientRect().width;
  box.style.left = (share < 0.6 ? px + 14 : px - box.offsetWidth - 14) + "px";
}

async function draw(chart, from, to) {
  const range = from === null ? "" : "&from=" + from.toFixed(3) + "&to=" + to.toFixed(3);
  const answer = await fetch("/runs/" + runOf(chart) + "/over-time?test=" + chart.dataset.test + range);
  if (!answer.ok) return;
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  chart.querySelectorAll("svg").forEach((svg) => svg.remove());
  chart.prepend(...holder.content.querySelectorAll("svg"));
  const box = chart.querySelector(".values");
  if (box) box.hidden = true;
  chart.classList.toggle("held", from !== null);
  // A part of the time can be linked to, and is there again after a reload.
  if (location.pathname === "/runs/" + runOf(chart)) {
    const at = new URL(location.href);
    for (const name of ["test", "from", "to"]) at.searchParams.delete(name);
    if (from !== null) {
      at.searchParams.set("test", chart.dataset.test);
      at.searchParams.set("from", from.toFixed(3));
      at.searchParams.set("to", to.toFixed(3));
    }
    history.replaceState(null, "", at);
  }
  let tools = chart.nextElementSibling?.classList.contains("zoom") ? chart.nextElementSibling : null;
  if (from === null) { tools?.remove(); return; }
  if (!tools) {
    tools = document.createElement("p");
    tools.className = "zoom";
    tools.dataset.own = "yes";
    const whole = document.createElement("button");
    whole.textContent = "Show the whole time";
    // The button goes with the part of the time: who used it by keyboard goes on at the chart.
    whole.addEventListener("click", () => { chart.focus({ preventScroll: true }); draw(chart, null, null); });
    tools.append(whole, document.createElement("span"));
    chart.after(tools);
  }
  tools.lastChild.textContent = "From " + from.toFixed(1) + " to " + to.toFixed(1) + " s";
}

let drag = null;
const chartOf = (event) => event.target.closest?.(".over-time");

let pointer = null;
// The chart under the pointer was drawn anew.
function again() {
  const under = pointer && document.elementFromPoint(pointer.clientX, pointer.clientY);
  if (under?.closest(".over-time")) point({ target: under, clientX: pointer.clientX, clientY: pointer.clientY });
}

document.addEventListener("pointermove", (event) => { pointer = event; point(event); });
async function point(event) {
  const chart = drag?.chart ?? chartOf(event);
  if (!chart) return;
  const svg = drawing(chart), of = geometry(svg), at = of.x(event);
  if (drag) {
    mark(svg, "chosen", { x: Math.min(at, drag.at), width: Math.abs(at - drag.at), y: 36, height: of.floor - 36 });
    return;
  }
  await values(chart, svg);
  if (drawing(chart) === svg) showValues(chart, svg, of.time(at));
}
document.addEventListener("pointerdown", (event) => {
  const chart = chartOf(event);
  if (!chart || event.button !== 0 || event.pointerType === "touch") return;
  drag = { chart, at: geometry(drawing(chart)).x(event) };
  event.preventDefault();
});
document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { chart, at } = drag, of = geometry(drawing(chart)), end = of.x(event);
  drag = null;
  chart.querySelector("svg .chosen")?.remove();
  if (Math.abs(end - at) > 8) draw(chart, of.time(Math.min(at, end)), of.time(Math.max(at, end)));
});
document.addEventListener("pointerout", (event) => {
  const chart = chartOf(event);
  if (!chart || drag || chart.contains(event.relatedTarget)) return;
  chart.querySelector("svg .cross")?.remove();
  const box = chart.querySelector(".values");
  if (box) box.hidden = true;
});
// The same by keyboard: arrows move the cross-hair, + and - zoom around it, Escape shows the whole time.
function reach(charts) {
  for (const chart of charts) {
    chart.tabIndex = 0;
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", "Chart over time: arrow keys move along it, plus and minus zoom, Escape shows the whole time");
  }
}
document.addEventListener("keydown", async (event) => {
  const chart = event.target.closest?.(".over-time");
  if (!chart || event.target !== chart) return;
  const svg = drawing(chart), of = geometry(svg), span = of.to - of.from;
  const time = chart.cursor ?? of.from + span / 2;
  const step = { ArrowLeft: -span / 50, ArrowRight: span / 50 }[event.key];
  if (step) {
    event.preventDefault();
    chart.cursor = Math.min(of.to, Math.max(of.from, time + step));
    await values(chart, svg);
    showValues(chart, svg, chart.cursor);
  } else if (event.key === "+") {
    draw(chart, time - span / 4, time + span / 4);
  } else if (event.key === "-" || event.key === "Escape") {
    draw(chart, null, null);
  }
});

const runs = document.getElementById("runs");
if (runs?.dataset.live) follow(runs);
reach(document.querySelectorAll(".over-time"));

// Predict: the answer is asked for as the sliders move, one question at a time; what moved in between is asked next.
// When they rest, the simulated answer is asked for, which takes longer.
const predict = document.getElementById("predict");
if (predict) {
  let asking = false, again = false, rest = 0;
  const show = async (query, simulated) => {
    const answer = await fetch(predict.dataset.part + "?" + query + simulated);
    // Sliders that moved meanwhile have their own answer.
    if (!answer.ok || (simulated && (asking || again || rest))) return;
    const shown = document.getElementById("answer");
    shown.innerHTML = await answer.text();
    offerFiles(shown.parentElement);
    history.replaceState(null, "", "?" + query);
    const heading = shown.querySelector("h2, .banner");
    if (simulated && heading) document.getElementById("says").textContent = heading.textContent + ": updated";
  };
  const ask = async () => {
    clearTimeout(rest);
    rest = 0;
    if (asking) { again = true; return; }
    asking = true;
    const query = new URLSearchParams(new FormData(predict));
    try { await show(query, ""); } catch { /* The server is gone: the last answer stays. */ }
    asking = false;
    if (again) { again = false; ask(); return; }
    rest = setTimeout(() => { rest = 0; show(query, "&simulated=yes").catch(() => {}); }, 400);
  };
  predict.addEventListener("input", (event) => {
    const shown = event.target.parentElement.querySelector("output");
    if (shown) shown.value = event.target.value;
    // Another array has other sliders, so that the whole page is asked for.
    if (event.target.name === "array" || event.target.name === "of") {
      const field = predict.elements[event.target.name === "array" ? "of" : "array"];
      if (field) field.disabled = true;
      for (const slider of predict.querySelectorAll(".sliders input, .sliders select")) slider.disabled = true;
      predict.submit();
    } else {
      ask();
    }
  });
}

// Runs: how many are ticked. A search, and another order, keep them.
const ticks = [...document.querySelectorAll("input[form=compare][type=checkbox]")];
if (ticks.length) {
  const search = document.querySelector("form.search");
  const count = () => {
    const elsewhere = [...document.querySelectorAll("#compare input[type=hidden][name=r]")];
    const chosen = [...elsewhere, ...ticks.filter((tick) => tick.checked)].map((of) => of.value);
    document.getElementById("chosen").textContent = chosen.length ? chosen.length + " chosen" : "the ticked runs";
    search.querySelectorAll("input[name=r]").forEach((of) => of.remove());
    for (const value of chosen) {
      search.append(Object.assign(document.createElement("input"), { type: "hidden", name: "r", value }));
    }
    for (const link of document.querySelectorAll("table.runs th a")) {
      const address = new URL(link.href);
      address.searchParams.delete("r");
      for (const run of chosen) address.searchParams.append("r", run);
      link.href = address.href;
    }
  };
  ticks.forEach((tick) => tick.addEventListener("change", count));
  count();
}

// Charts as files: each gets two buttons. They are drawn with the colours that the page has now.
function chartFile(svg) {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll("[data-own]").forEach((own) => own.remove());
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const names = ["ink", "soft", "grid", "paper", "panel", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "bad", "warn", "good"];
  const page = getComputedStyle(document.documentElement);
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule.selectorText);
  const style = document.createElementNS(SVG, "style");
  style.textContent = ":root { " + names.map((name) => "--" + name + ": " + page.getPropertyValue("--" + name)).join("; ") + " }\n"
    + rules.filter((rule) => /svg|\.(s|f|h)\d|doubt/.test(rule.selectorText)).map((rule) => rule.cssText).join("\n")
    + "\nsvg { display: block !important; background: var(--paper) }";
  copy.prepend(style);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
async function savePng(svg, name) {
  const image = new Image(), { width, height } = svg.viewBox.baseVal;
  image.src = URL.createObjectURL(chartFile(svg));
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * 2, height * 2];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  canvas.toBlob((blob) => save(blob, name + ".png"));
}
const CHARTS = ".report .charts, .compared .charts, .trend .charts, .live-charts .charts, .prediction figure, .diagnosis figure";
function offerFiles(root) {
  // Those of a chart that is there no more.
  for (const files of root.querySelectorAll(".live-charts .charts:not(.over-time) > .files")) if (files.previousElementSibling?.tagName !== "svg") files.remove();
  for (const holder of root.querySelectorAll(CHARTS)) {
    const charts = holder.matches(".over-time") ? [holder] : [...holder.querySelectorAll(":scope > svg")];
    for (const chart of charts) {
      const has = chart === holder ? chart.querySelector(":scope > .files") : chart.nextElementSibling?.matches(".files");
      const svg = () => (chart === holder ? drawing(chart) : chart);
      if (has || !svg()) continue;
      const files = fileButtons(svg);
      if (chart === holder) chart.append(files);
      // A live chart is patched where it stands; in a grid of charts the buttons belong below theirs.
      else if (holder.matches("figure, .live-charts .charts")) chart.after(files);
      else {
        const figure = document.createElement("figure");
        const focused = chart.contains(document.activeElement) ? document.activeElement : null;
        chart.replaceWith(figure);
        figure.append(chart, files);
        // What is moved loses the focus: somebody went to a point by keyboard before this page was idle.
        focused?.focus({ preventScroll: true });
      }
    }
  }
}
function fileButtons(svg) {
  const title = svg().querySelector("text.t")?.textContent ?? "chart";
  const name = "assay-" + title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const files = document.createElement("p");
  files.className = "files";
  files.dataset.own = "yes";
  for (const [kind, act] of [["SVG", () => save(chartFile(svg()), name + ".svg")], ["PNG", () => savePng(svg(), name)]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = kind;
    button.setAttribute("aria-label", title + " as " + kind);
    button.addEventListener("click", act);
    files.append(button);
  }
  return files;
}
// Once the page stands: to ask which drawing is shown before that would lay it out twice.
(window.requestIdleCallback ?? setTimeout)(() => offerFiles(document));

// Tables for a forum or a document, into the clipboard.
const fetched = async (address) => {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(answer.statusText);
  return new Blob([await answer.text()], { type: "text/plain" });
};
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  button.dataset.says ??= button.textContent;
  let says = "failed";
  try {
    // With what is still to come: a browser lets a page write only while it handles the click.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": fetched(button.dataset.copy) })]);
    says = "copied";
  } catch { /* The browser does not let this page, or the server is gone. */ }
  // The text is what is read aloud from here on.
  button.removeAttribute("aria-label");
  button.textContent = says;
  setTimeout(() => (button.textContent = button.dataset.says), 1500);
});

// A finding leads to its moment in the chart; without this script the page shows that part above the report.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.moment");
  if (!link || event.ctrlKey || event.metaKey) return;
  const at = new URL(link.href).searchParams;
  const chart = document.querySelector(".report .over-time[data-test='" + at.get("test") + "']");
  if (!chart) return;
  event.preventDefault();
  chart.closest("details")?.setAttribute("open", "");
  draw(chart, parseFloat(at.get("from")), parseFloat(at.get("to")));
  chart.scrollIntoView({ block: "center" });
  chart.focus();
});
