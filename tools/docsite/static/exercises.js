// Checks what is typed under an exercise; says what tacit.learn.check says. Without it the boxes stay hidden.
"use strict";

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const FRACTION = /^([+-]?\d+)\/(\d+)$/;
const WITHIN = 0.001 + 1e-12; // three decimals

function read(text, word) {
  if (word) return ["yes", "no"].includes(text.toLowerCase()) ? text.toLowerCase() : null;
  const parts = FRACTION.exec(text);
  const number = parts ? Number(parts[1]) / Number(parts[2]) : DECIMAL.test(text) ? Number(text) : NaN;
  return Number.isFinite(number) ? number : null;
}

function same(given, wanted) {
  return typeof given === "string" ? given === wanted : Math.abs(given - wanted) <= WITHIN;
}

function verdict(said, text) {
  if (!text) return "Not answered yet: type your answer.";
  const given = read(text, typeof said.answer === "string");
  if (given === null) return said.unread;
  if (same(given, said.answer)) return said.right;
  const known = said.mistakes.find(([wrong]) => same(given, wrong));
  return known ? known[1] : said.wrong;
}

for (const form of document.querySelectorAll("form.exercise")) {
  const said = JSON.parse(form.dataset.exercise);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = verdict(said, form.querySelector("input").value.trim());
    const output = form.querySelector("output");
    output.textContent = text;
    output.className = text === said.right ? "right" : "wrong";
  });
  form.hidden = false;
}
