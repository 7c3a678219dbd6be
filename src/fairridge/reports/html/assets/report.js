// Moves the numbers of the page with the slider. Texts come ready from the payload and are only
// ever set as text, so nothing in the data can become markup.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("series").textContent);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const slider = document.getElementById("r");
  const texts = all("[data-t]");
  const bars = all("[data-bar]");
  const charts = all("svg.chart").filter((chart) => chart.querySelector(".cursor"));
  const dots = charts.flatMap((chart) => all("circle.dot", chart));
  const places = new Map(
    dots.map((dot) => [dot, dot.previousElementSibling.getAttribute("points").split(" ")]),
  );
  let view = data.view;

  const number = (text) => parseFloat(text.replace("−", "-").replace(/,/g, ""));

  function lookUp(key, position) {
    const own = data.views[view];
    const list = own && own[key] ? own[key] : data.texts[key];
    return list.length === 1 ? list[0] : list[position];
  }

  function show() {
    const position = Number(slider.value);
    for (const place of texts) {
      const text = lookUp(place.dataset.t, position);
      if (place.textContent !== text) place.textContent = text;
      place.classList.toggle("below", text.endsWith("▼"));
    }
    for (const bar of bars) {
      const share = number(bar.textContent) / Number(bar.dataset.bar);
      const length = Number.isFinite(share) ? Math.max(-1, Math.min(1, share)) : 0;
      bar.style.setProperty("--v", length.toFixed(4));
    }
    for (const [dot, points] of places) {
      const [x, y] = points[position].split(",");
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
    }
    for (const chart of charts) {
      const x = Number(chart.dataset.left) + Number(chart.dataset.room) * data.shares[position];
      const cursor = chart.querySelector(".cursor");
      cursor.setAttribute("x1", x.toFixed(1));
      cursor.setAttribute("x2", x.toFixed(1));
    }
    slider.setAttribute("aria-valuetext", document.getElementById("reading").textContent);
  }

  function moveTo(position) {
    slider.value = String(position);
    show();
  }

  function chooseView() {
    const rows = document.querySelector("input[name=rows]:checked");
    const outcome = document.getElementById("outcome");
    const [firstRows, ...rest] = data.view.split("|");
    view = `${rows ? rows.value : firstRows}|${outcome ? outcome.value : rest.join("|")}`;
    for (const group of all("g[data-view]")) {
      group.toggleAttribute("hidden", group.dataset.view !== view);
    }
    show();
  }

  function followPointer(chart) {
    const move = (event) => {
      const box = chart.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      const share = (x - Number(chart.dataset.left)) / Number(chart.dataset.room);
      const far = data.shares.map((own) => Math.abs(own - share));
      moveTo(far.indexOf(Math.min(...far)));
    };
    chart.addEventListener("pointerdown", (event) => {
      chart.setPointerCapture(event.pointerId);
      move(event);
    });
    chart.addEventListener("pointermove", (event) => event.buttons && move(event));
  }

  function highlight(row) {
    const line = document.querySelector(`svg g[data-term="${row.dataset.term}"]`);
    const mark = (on) => () => {
      row.classList.toggle("hot", on);
      if (line) line.classList.toggle("hot", on);
    };
    row.addEventListener("pointerenter", mark(true));
    row.addEventListener("pointerleave", mark(false));
    if (line) {
      line.addEventListener("pointerenter", mark(true));
      line.addEventListener("pointerleave", mark(false));
    }
  }

  function nextTheme() {
    const order = ["", "light", "dark"];
    const root = document.documentElement;
    const next = order[(order.indexOf(root.dataset.theme || "") + 1) % order.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
  }

  // Paper has no triangle to click: what is folded is printed, and folded again.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    for (const one of folded) one.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });

  slider.addEventListener("input", show);
  for (const button of all("[data-go]")) {
    button.addEventListener("click", () => moveTo(Number(button.dataset.go)));
  }
  for (const choice of all("input[name=rows], #outcome")) {
    choice.addEventListener("change", chooseView);
  }
  charts.forEach(followPointer);
  for (const row of all("tr[data-term]")) highlight(row);
  document.getElementById("theme").addEventListener("click", nextTheme);
  document.documentElement.classList.add("scripted");
  show();
})();
