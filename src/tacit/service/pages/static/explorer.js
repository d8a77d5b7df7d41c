// Sliders for the people of the explorer, and points that can be dragged; the numbers come from the page.
"use strict";

(() => {
  const form = document.getElementById("explorer");
  const field = document.getElementById("values");
  const movers = document.getElementById("moving");
  if (!form || !movers) return;
  const LOW = 0, HIGH = 10, LEFT = 30, RIGHT = 690, WIDTH = 720;
  let latest = 0, dragging = false;

  const numbers = () => field.value.split(/[\s,]+/).filter(Boolean).map(Number);
  const held = (value) => Math.min(HIGH, Math.max(LOW, Math.round(value * 10) / 10));

  const show = async () => {
    const mine = ++latest;
    const found = document.getElementById("found");
    found.setAttribute("aria-busy", "true");
    const query = new URLSearchParams(new FormData(form));
    const reply = await fetch(`/explorer?${query}`);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    if (mine !== latest || dragging) return; // a later change shows itself; so does the end of a drag
    found.replaceWith(page.getElementById("found"));
    draggable();
  };

  const set = (place, value) => {
    const all = numbers();
    all[place] = held(value);
    field.value = all.join(", ");
    const slider = movers.querySelectorAll("input")[place];
    if (slider) slider.value = String(all[place]);
  };

  const sliders = () => {
    movers.replaceChildren();
    numbers().forEach((value, place) => {
      const label = document.createElement("label");
      const range = document.createElement("input");
      Object.assign(range, { type: "range", min: LOW, max: HIGH, step: "0.1", value, id: `person-${place}` });
      label.htmlFor = range.id;
      label.textContent = `Person ${place + 1}`;
      range.addEventListener("input", () => { set(place, Number(range.value)); show(); });
      const one = document.createElement("p");
      one.append(label, range);
      movers.append(one);
    });
    movers.hidden = false;
  };

  const draggable = () => {
    const picture = document.getElementById("people");
    if (!picture) return;
    const sorted = numbers().map((value, place) => [value, place]).sort((a, b) => a[0] - b[0]);
    picture.querySelectorAll(".person").forEach((point, rank) => {
      const place = sorted[rank][1];
      point.addEventListener("pointerdown", (down) => {
        down.preventDefault();
        point.setPointerCapture(down.pointerId);
        dragging = true;
        const move = (event) => {
          const box = picture.getBoundingClientRect();
          const x = ((event.clientX - box.left) / box.width) * WIDTH;
          set(place, LOW + ((x - LEFT) / (RIGHT - LEFT)) * (HIGH - LOW));
          point.setAttribute("cx", String(LEFT + ((numbers()[place] - LOW) / (HIGH - LOW)) * (RIGHT - LEFT)));
        };
        point.addEventListener("pointermove", move);
        point.addEventListener("pointerup", () => {
          point.removeEventListener("pointermove", move);
          dragging = false;
          show();
        }, { once: true });
      });
    });
  };

  form.addEventListener("submit", (event) => { event.preventDefault(); sliders(); show(); });
  document.getElementById("statistic").addEventListener("change", show);
  sliders();
  draggable();
})();
