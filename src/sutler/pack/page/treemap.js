// The map: a squarified treemap on a canvas, so that ten thousand files cost one drawing and no elements.

const HEADER = 17;
const FRAME = -2;
const OMITTED = -3;
/** What a cell stands for: a file of the pack, a row that was left out, or the frame. */
const inPack = (cell) => (cell.file >= 0 ? state.view.files[cell.file] : null);
const leftOut = (cell) => (cell.file <= OMITTED ? state.view.left[OMITTED - cell.file] : null);
const treemap = { cells: [], folders: [], active: -1, hover: -1, tree: null };

/** Files as a tree of folders; a folder with one folder in it is drawn as one. */
function treeOf(files, measure, omitted) {
  const root = { name: "", path: "", children: new Map(), value: 0, file: -1 };
  const add = (file, index, value) => {
    if (value <= 0) return;
    const quoted = file.path[0] === '"';
    const parts = quoted ? [file.path] : file.path.split("/");
    let node = root;
    node.value += value;
    let below = "";
    parts.forEach((part, at) => {
      below = below ? `${below}/${part}` : part;
      const leaf = at === parts.length - 1;
      const key = leaf ? `f${part}` : `d${part}`;
      let child = node.children.get(key);
      if (!child) {
        child = { name: part, path: below, children: leaf ? null : new Map(), value: 0, file: leaf ? index : -1 };
        node.children.set(key, child);
      }
      child.value += value;
      node = child;
    });
  };
  files.forEach((file, index) => add(file, index, file.costs[measure] || 0));
  const estimate = state.view.measures[measure].name === "bytes" ? "bytes" : "cost";
  omitted.forEach((row, index) => add(row, OMITTED - index, row[estimate] || 0));
  return settle(root);
}

function settle(root) {
  const stack = [root];
  const order = [];
  while (stack.length) {
    const node = stack.pop();
    order.push(node);
    if (node.children) stack.push(...node.children.values());
  }
  for (const node of order.reverse()) {
    if (!node.children) continue;
    let list = [...node.children.values()];
    if (list.length === 1 && list[0].children && node.path) {
      node.name = `${node.name}/${list[0].name}`;
      node.path = list[0].path;
      list = list[0].children;
    }
    node.children = list.sort((a, b) => b.value - a.value || (a.path < b.path ? -1 : 1));
  }
  return root;
}

function find(node, path) {
  if (!path) return node;
  const stack = [node];
  while (stack.length) {
    const one = stack.pop();
    if (one.path === path && one.children) return one;
    for (const child of one.children || []) if (child.children && `${path}/`.startsWith(`${child.path}/`)) stack.push(child);
  }
  return node;
}

/** Rows of nearly square rectangles (Bruls, Huizing, van Wijk); areas are exact shares of the box. */
function squarify(children, box, place) {
  let { x, y, w, h } = box;
  let left = children.reduce((sum, child) => sum + child.value, 0);
  let from = 0;
  while (from < children.length && left > 0 && w > 0 && h > 0) {
    const side = Math.min(w, h);
    const scale = (w * h) / left;
    let sum = 0;
    let to = from;
    let worst = Infinity;
    while (to < children.length) {
      const next = sum + children[to].value;
      const thick = (next * scale) / side;
      const first = (children[from].value * scale) / thick;
      const last = (children[to].value * scale) / thick;
      const ratio = Math.max(first / thick, thick / first, last / thick, thick / last);
      if (ratio > worst) break;
      worst = ratio;
      sum = next;
      to += 1;
    }
    const thick = to === children.length ? (w < h ? h : w) : (sum * scale) / side;
    let at = 0;
    for (let index = from; index < to; index += 1) {
      const long = (side * children[index].value) / sum;
      if (w < h) place(children[index], { x: x + at, y, w: long, h: thick });
      else place(children[index], { x, y: y + at, w: thick, h: long });
      at += long;
    }
    if (w < h) { y += thick; h -= thick; } else { x += thick; w -= thick; }
    left -= sum;
    from = to;
  }
}

/** Cells for files, bands for folders; iterative, because folders may nest deeper than any stack. */
function layOut(root, width, height, frame) {
  const cells = [];
  const folders = [];
  const top = frame > 0 && !root.path ? [...root.children, { name: "", path: "", children: null, value: frame, file: FRAME }] : root.children;
  const work = [[top.slice().sort((a, b) => b.value - a.value), { x: 0, y: 0, w: width, h: height }, 0]];
  while (work.length) {
    const [children, box, depth] = work.pop();
    squarify(children, box, (node, place) => {
      if (!node.children) {
        cells.push({ ...place, file: node.file, value: node.value });
        return;
      }
      const roomy = place.w > 46 && place.h > 34;
      folders.push({ ...place, name: node.name, path: node.path, value: node.value, depth, roomy });
      const pad = place.w > 14 && place.h > 14 ? 2 : 0;
      const head = roomy ? HEADER : pad;
      work.push([node.children, { x: place.x + pad, y: place.y + head, w: place.w - 2 * pad, h: place.h - head - pad }, depth + 1]);
    });
  }
  return { cells, folders };
}

function palette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return { of: colour, ink: colour("ink"), paper: colour("paper"), quiet: colour("quiet"), seal: colour("seal"), hatch: colour("hatch"), ground: colour("ground"), folder: colour("folder") };
}

function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

function hatching(colour) {
  const tile = make("canvas");
  tile.width = tile.height = 12;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 2.4;
  for (const shift of [-12, 0, 12]) {
    pen.beginPath();
    pen.moveTo(shift - 2, 14);
    pen.lineTo(shift + 14, -2);
    pen.stroke();
  }
  return tile;
}

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** A colour, paler the lower a file ranks among those of its pack: the map shows at a glance what the task is about. */
function toned(hex, ground, step) {
  if (step >= STEPS) return hex;
  const share = 0.4 + (0.6 * step) / STEPS;
  const under = channels(ground);
  const mixed = channels(hex).map((part, at) => Math.round(part * share + under[at] * (1 - share)));
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

const STEPS = 16;
const stepOf = (file) => (file && file.score > 0 ? Math.round((STEPS * file.score) / state.view.best) : STEPS);

const EMPTY = "This pack holds no file. \u201cLeft out\u201d below names the rule for each.";

/** Black or white text, whichever can be read on a colour. */
function readable(hex) {
  const [r, g, b] = channels(hex).map((part) => (part / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.22 ? "#1d1f23" : "#f7f5f0";
}

function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${text.slice(0, low)}…` : "";
}

function drawMap() {
  const { view } = state;
  const { pen, width, height } = prepared(byId("map"));
  if (!width || !height) return;
  const colours = palette();
  const key = `${state.measure} ${state.omitted}`;
  if (!treemap.tree || treemap.key !== key || treemap.files !== view.files) {
    Object.assign(treemap, { tree: treeOf(view.files, state.measure, state.omitted ? view.left : []), key, files: view.files });
  }
  const place = [key, state.folder, width, height].join("\n");
  if (treemap.place !== place || treemap.drawn !== view.files) {
    const found = layOut(find(treemap.tree, state.folder), width, height, measure().frame);
    Object.assign(treemap, found, { active: -1, hover: -1, place, drawn: view.files });
  }
  pen.fillStyle = colours.ground;
  pen.fillRect(0, 0, width, height);
  drawFolders(pen, colours);
  drawCells(pen, colours);
  if (!view.files.length) {
    pen.fillStyle = colours.quiet;
    pen.font = "14px system-ui, sans-serif";
    pen.fillText(fitted(pen, EMPTY, width - 32), 16, 28);
  }
  const canvas = byId("map");
  canvas.dataset.cells = treemap.cells.length;
  canvas.dataset.total = treemap.cells.reduce((sum, cell) => sum + cell.value, 0);
  canvas.setAttribute("aria-label", !view.files.length ? EMPTY : `Map of ${plural(view.files.length, "file")}, ${count(measure().total)} ${measure().name} in all`);
  drawOver();
}

function drawFolders(pen, colours) {
  pen.textBaseline = "middle";
  pen.font = "600 11px system-ui, sans-serif";
  for (const box of treemap.folders) {
    if (box.w < 3 || box.h < 3) continue;
    pen.fillStyle = box.depth % 2 ? colours.ground : colours.folder;
    pen.fillRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
    if (!box.roomy) continue;
    pen.fillStyle = colours.quiet;
    const price = count(box.value);
    const room = box.w - 12;
    const name = fitted(pen, `${box.name}/`, room);
    pen.fillText(name, box.x + 6, box.y + HEADER / 2 + 1);
    const used = pen.measureText(name).width;
    pen.font = "11px system-ui, sans-serif";
    const wide = pen.measureText(price).width;
    if (used + wide + 14 < room) pen.fillText(price, box.x + box.w - wide - 6, box.y + HEADER / 2 + 1);
    pen.font = "600 11px system-ui, sans-serif";
  }
}

function drawCells(pen, colours) {
  const passes = fileFilter();
  const matches = matcher(state.query);
  const hatch = pen.createPattern(hatching(colours.hatch), "repeat");
  const tones = new Map();
  pen.font = "11.5px system-ui, sans-serif";
  for (const cell of treemap.cells) {
    const file = inPack(cell);
    const row = leftOut(cell);
    const colour = file ? colourOf(kindOf(file)) : row ? "omitted" : "frame";
    const tone = `${colour} ${stepOf(file)}`;
    if (!tones.has(tone)) {
      const mixed = toned(colours.of(colour), colours.ground, stepOf(file));
      tones.set(tone, [mixed, readable(mixed)]);
    }
    const [fill, ink] = tones.get(tone);
    const gap = cell.w > 4 && cell.h > 4 ? 1 : 0.25;
    const box = [cell.x + gap / 2, cell.y + gap / 2, Math.max(cell.w - gap, 0.4), Math.max(cell.h - gap, 0.4)];
    const dim = file ? !passes(file) : state.kinds.size || state.marks.size || (row ? !matches(row.path.toLowerCase()) : state.query);
    pen.globalAlpha = dim ? 0.16 : 1;
    pen.fillStyle = fill;
    pen.fillRect(...box);
    if (((!file && !row) || file?.cut) && cell.w > 3 && cell.h > 3) {
      pen.fillStyle = hatch;
      pen.fillRect(...box);
    }
    if (row && cell.w > 5 && cell.h > 5) {
      pen.strokeStyle = colours.quiet;
      pen.lineWidth = 1;
      pen.setLineDash([3, 3]);
      pen.strokeRect(box[0] + 1, box[1] + 1, box[2] - 2, box[3] - 2);
      pen.setLineDash([]);
    }
    if (file && file.redacted && cell.w > 5 && cell.h > 5) {
      pen.strokeStyle = colours.seal;
      pen.lineWidth = 2;
      pen.strokeRect(box[0] + 1.5, box[1] + 1.5, box[2] - 3, box[3] - 3);
    }
    if (cell.w > 40 && cell.h > 17) label(pen, cell, file || row, ink);
  }
  pen.globalAlpha = 1;
}

function label(pen, cell, file, ink) {
  const name = file ? file.path.slice(file.path.lastIndexOf("/") + 1) : "frame";
  pen.fillStyle = ink;
  pen.fillText(fitted(pen, name, cell.w - 10), cell.x + 5, cell.y + (cell.h > 34 ? 11 : Math.min(cell.h / 2, 12)));
  if (cell.h > 34) {
    pen.globalAlpha *= 0.78;
    pen.fillText(fitted(pen, count(cell.value), cell.w - 10), cell.x + 5, cell.y + 26);
    pen.globalAlpha /= 0.78;
  }
}

function drawOver() {
  const { pen } = prepared(byId("map-over"));
  const colours = palette();
  for (const [index, width] of [[treemap.hover, 2], [treemap.active, 3]]) {
    const cell = treemap.cells[index];
    if (!cell) continue;
    pen.strokeStyle = colours.paper;
    pen.lineWidth = width + 2;
    pen.strokeRect(cell.x + 1, cell.y + 1, Math.max(cell.w - 2, 1), Math.max(cell.h - 2, 1));
    pen.strokeStyle = colours.ink;
    pen.lineWidth = width;
    pen.strokeRect(cell.x + 1, cell.y + 1, Math.max(cell.w - 2, 1), Math.max(cell.h - 2, 1));
  }
}

const cellAt = (x, y) => treemap.cells.findIndex((cell) => x >= cell.x && x < cell.x + cell.w && y >= cell.y && y < cell.y + cell.h);
const folderAt = (x, y) => treemap.folders.findLast((box) => box.roomy && x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + HEADER);

function describe(cell) {
  const row = leftOut(cell);
  if (row) return { path: row.path, text: `left out, about ${count(cell.value)} ${measure().name}`, more: `${row.rule}; ${entersAt(row)}` };
  if (cell.file < 0) return { path: "frame of the pack", text: `${count(cell.value)} ${measure().name}, ${percent(cell.value, measure().total)}: opening, tree, names, manifest` };
  const file = state.view.files[cell.file];
  const marks = [levelName(file.level), file.redacted ? plural(file.redacted, "secret redacted", "secrets redacted") : ""].filter(Boolean);
  return { path: file.path, text: `${count(cell.value)} ${measure().name}, ${percent(cell.value, measure().total)}`, more: `${marks.join(", ")}; ${file.reason}` };
}

function showTip(index, x, y) {
  const tip = byId("tip");
  if (index < 0) {
    tip.hidden = true;
    return;
  }
  const about = describe(treemap.cells[index]);
  refill(tip, path(about.path), make("strong", { text: about.text }), about.more ? make("div", { class: "quiet", text: about.more }) : null);
  tip.hidden = false;
  const box = byId("mapbox");
  tip.style.left = `${Math.max(6, Math.min(x + 14, box.clientWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + tip.offsetHeight + 24 > box.clientHeight ? Math.max(6, y - tip.offsetHeight - 10) : y + 16}px`;
}

/** The nearest cell in a direction, by its middle. */
function nextCell(from, dx, dy) {
  const a = treemap.cells[from];
  const [ax, ay] = [a.x + a.w / 2, a.y + a.h / 2];
  let best = from;
  let least = Infinity;
  treemap.cells.forEach((cell, index) => {
    const [x, y] = [cell.x + cell.w / 2 - ax, cell.y + cell.h / 2 - ay];
    const along = x * dx + y * dy;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (index === from || along <= 0.5) return;
    const far = along + 2 * aside;
    if (far < least) [best, least] = [index, far];
  });
  return best;
}

function enterFolder(folder) {
  state.folder = find(treemap.tree, folder).path;
  changed();
  say(state.folder ? `in folder ${state.folder}` : "the whole pack");
}

function walkMap(event, open) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const cell = treemap.cells[treemap.active];
  if (steps[event.key] || event.key === "Home") {
    if (!treemap.cells.length) return;
    const biggest = () => treemap.cells.reduce((best, one, index) => (one.value > treemap.cells[best].value ? index : best), 0);
    treemap.active = cell && steps[event.key] ? nextCell(treemap.active, ...steps[event.key]) : biggest();
    const now = treemap.cells[treemap.active];
    const about = describe(now);
    say(`${about.path}, ${about.text}${about.more ? `, ${about.more}` : ""}`);
    showTip(treemap.active, now.x + now.w / 2, now.y + now.h / 2);
    drawOver();
  } else if (event.key === "Enter" && cell && cell.file !== FRAME) open(cell);
  else if (event.key.toLowerCase() === "z" && cell && cell.file !== FRAME) enterFolder((inPack(cell) || leftOut(cell)).path.split("/").slice(0, -1).join("/"));
  else if (event.key === "Escape" || event.key === "Backspace") enterFolder(state.folder.split("/").slice(0, -1).join("/"));
  else return;
  event.preventDefault();
}

function startMap(open) {
  const canvas = byId("map");
  const redraw = framed(drawMap);
  new ResizeObserver(redraw).observe(byId("mapbox"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  canvas.addEventListener("pointermove", (event) => {
    const index = cellAt(event.offsetX, event.offsetY);
    if (index !== treemap.hover) {
      treemap.hover = index;
      drawOver();
    }
    showTip(index, event.offsetX, event.offsetY);
  });
  canvas.addEventListener("pointerleave", () => { treemap.hover = -1; showTip(-1); drawOver(); });
  canvas.addEventListener("blur", () => { treemap.active = -1; showTip(-1); drawOver(); });
  canvas.addEventListener("click", (event) => {
    const folder = folderAt(event.offsetX, event.offsetY);
    const cell = treemap.cells[cellAt(event.offsetX, event.offsetY)];
    if (cell && cell.file !== FRAME) open(cell);
    else if (folder) enterFolder(folder.path);
  });
  canvas.addEventListener("keydown", (event) => walkMap(event, open));
  state.listeners.push(redraw);
}
