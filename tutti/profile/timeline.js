"use strict";
(() => {
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const canvas = document.querySelector("#timeline canvas"), told = document.getElementById("pointed");
  const colours = {collective: "--series-1", message: "--series-3", wait: "--series-4", other: "--series-5"};
  const unit = 1e-7, label = 44, axis = 22, whole = data.seconds || 1;
  const lane = Math.max(3, Math.min(28, Math.floor(560 / data.ranks.length)));
  let from = 0, to = whole, drag = null;

  const words = (seconds) => {
    const size = Math.abs(seconds);
    const [scale, name] = size < 1e-6 ? [1e-9, "ns"] : size < 1e-3 ? [1e-6, "us"] : size < 1 ? [1e-3, "ms"] : [1, "s"];
    return `${Number((seconds / scale).toPrecision(4))} ${name}`;
  };
  const width = () => canvas.clientWidth - label;
  const x = (seconds) => label + (seconds - from) / (to - from) * width();
  const when = (pixel) => from + (pixel - label) / width() * (to - from);
  // The first event of a rank that begins at or after a time.
  const first = (rank, seconds) => {
    let low = 0, high = rank.begin.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (rank.begin[middle] * unit < seconds) low = middle + 1; else high = middle;
    }
    return low;
  };

  function draw() {
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
    const height = lane * data.ranks.length + axis, scale = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(canvas.clientWidth * scale);
    canvas.height = Math.round(height * scale);
    const paper = canvas.getContext("2d");
    paper.scale(scale, scale);
    paper.clearRect(0, 0, canvas.clientWidth, height);
    paper.font = "12px system-ui, sans-serif";
    const kinds = data.kinds.map((kind) => colour(colours[kind[2]]));
    data.ranks.forEach((rank, at) => {
      const y = at * lane, gap = lane > 6 ? 1 : 0;
      paper.fillStyle = colour("--muted");
      rank.busy.forEach((busy, place) => {
        const begin = rank.start + place * rank.stretch;
        if (busy === 0 || begin > to || begin + rank.stretch < from) return;
        paper.globalAlpha = 0.35 * busy;
        paper.fillRect(Math.max(label, x(begin)), y, Math.max(0.5, x(begin + rank.stretch) - Math.max(label, x(begin))), lane - gap);
      });
      paper.globalAlpha = 1;
      let last = -1, drawn = -1;
      for (let i = Math.max(0, first(rank, from) - 1); i < rank.begin.length; ++i) {
        const begin = rank.begin[i] * unit;
        if (begin > to) break;
        const left = Math.max(label, x(begin)), right = Math.min(label + width(), x(begin + rank.length[i] * unit));
        // What is narrower than half a pixel is in how busy the stretch is.
        if (right < label || right - left < 0.5 || (right <= last && rank.kind[i] === drawn)) continue;
        paper.fillStyle = kinds[rank.kind[i]];
        paper.fillRect(left, y, right - left, lane - gap);
        last = right;
        drawn = rank.kind[i];
      }
      if (lane >= 12 || at % Math.ceil(12 / lane) === 0) {
        paper.fillStyle = colour("--ink");
        paper.textAlign = "right";
        paper.fillText(rank.rank, label - 6, y + Math.min(lane, 16) / 2 + 4);
      }
    });
    paper.fillStyle = colour("--ink");
    for (const part of [0, 0.5, 1]) {
      paper.textAlign = ["left", "center", "right"][part * 2];
      paper.fillText(words(from + part * (to - from)), label + part * width(), height - 6);
    }
  }

  function show(begin, end) {
    const span = Math.min(whole, Math.max(1e-6, end - begin));
    from = Math.max(0, Math.min(whole - span, begin));
    to = from + span;
    told.textContent = `${words(from)} to ${words(to)}`;
    draw();
  }
  function zoom(factor, around = (from + to) / 2) {
    show(around - (around - from) * factor, around + (to - around) * factor);
  }
  const move = (part) => show(from + part * (to - from), to + part * (to - from));
  const doing = {in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.5), right: () => move(0.5), all: () => show(0, whole)};

  function point(pixel, y) {
    const rank = data.ranks[Math.floor(y / lane)], seconds = when(pixel);
    if (!rank || pixel < label) return;
    let text = `rank ${rank.rank}, ${words(seconds)}`;
    const slack = (to - from) / width();
    for (let i = first(rank, seconds + slack) - 1, looked = 0; i >= 0 && looked < 200; --i, ++looked) {
      const begin = rank.begin[i] * unit, length = rank.length[i] * unit;
      if (begin + length < seconds - slack) continue;
      const [name, where] = data.kinds[rank.kind[i]];
      text = `rank ${rank.rank}: ${name} at ${where}, ${words(length)} from ${words(begin)}`;
      break;
    }
    told.textContent = text;
  }

  document.querySelector("#timeline .buttons").addEventListener("click", (event) => doing[event.target.dataset.do]?.());
  canvas.addEventListener("keydown", (event) => {
    const name = {"+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all"}[event.key];
    if (!name || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    doing[name]();
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / width());
    else zoom(event.deltaY > 0 ? 1.25 : 0.8, when(event.offsetX));
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    drag = {at: event.offsetX, from, to};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) show(drag.from - (event.offsetX - drag.at) / width() * (drag.to - drag.from), drag.to - (event.offsetX - drag.at) / width() * (drag.to - drag.from));
    point(event.offsetX, event.offsetY);
  });
  canvas.addEventListener("pointerup", () => { drag = null; });
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
