// What a browser adds to pages that work without it: a slider, and a release that shows itself.
"use strict";

(() => {
  const words = (epsilon) => {
    const sure = (100 * 0.1 * Math.exp(epsilon)) / (0.9 + 0.1 * Math.exp(epsilon));
    const fine = sure > 99 ? 100 : 10; // rounded up: a promise is never told better than it is
    const most = Math.ceil(sure * fine) / fine;
    return `At ${epsilon}: someone who is 10% sure that a person is in the data could become at most ${most}% sure.`;
  };

  const place = document.getElementById("slider");
  const amount = place && document.getElementById(place.dataset.for);
  if (amount && place.dataset.kind !== "concentrated") {
    const label = document.createElement("label");
    const range = document.createElement("input");
    const told = document.createElement("output");
    Object.assign(range, { type: "range", min: "-3", max: "1", step: "0.05", id: "amount-slider" });
    label.htmlFor = range.id;
    label.textContent = "From more private to more accurate";
    told.htmlFor = range.id;
    const number = () => {
      const [over, under] = amount.value.split("/").map(Number);
      return under === undefined ? over : over / under;
    };
    const show = () => {
      const now = number();
      if (now > 0) {
        range.value = String(Math.log10(now));
        range.setAttribute("aria-valuetext", amount.value);
        told.textContent = words(now);
      }
    };
    range.addEventListener("input", () => {
      amount.value = String(Number((10 ** Number(range.value)).toPrecision(2)));
      told.textContent = words(Number(amount.value));
      range.setAttribute("aria-valuetext", amount.value);
    });
    amount.addEventListener("input", show);
    place.append(label, range, told);
    place.hidden = false;
    show();
  }

  const running = document.getElementById("running");
  if (running) {
    const look = async () => {
      const reply = await fetch(`/v1/releases/${encodeURIComponent(running.dataset.id)}?wait=30`, {
        headers: { Accept: "application/json" },
      });
      if (!reply.ok) return;
      const told = await reply.json();
      if (["queued", "running"].includes(told.state)) setTimeout(look, 500);
      else location.reload();
    };
    look();
  }

  document.getElementById("result")?.scrollIntoView();
})();
