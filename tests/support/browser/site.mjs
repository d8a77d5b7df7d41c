// Opens pages of the built site in a real browser, light and dark, wide and on a phone; checks each with axe.
// Then searches, types answers to exercises, and reads the boxes of a page without scripts.
// Usage: node site.mjs ORDERS.json, with { chromium, address, pages, search, exercises }; prints JSON.
// With a "folder" in it, pictures of all pages are in that.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
// What of a page depends on its colours and its width; the rest of it is checked in the first look alone.
const SEEN = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"];
const LOOKS = { "light": ["light", 1200], "dark-phone": ["dark", 390] };
const orders = JSON.parse(readFileSync(process.argv[2], "utf8"));
const found = { pages: [], wrong: [], outside: [], hits: 0, said: [], hidden: [] };

const browser = await puppeteer.launch({
  executablePath: orders.chromium,
  protocolTimeout: 60_000,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
});

async function open(path, [scheme, width]) {
  const page = await browser.newPage();
  await page.setViewport({ width, height: 850 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  page.on("console", (message) => {
    if (message.type() === "error") found.wrong.push(`${path}: ${message.text()}`);
  });
  page.on("pageerror", (error) => found.wrong.push(`${path}: ${error}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(orders.address) && !url.startsWith("data:")) found.outside.push(url);
  });
  await page.goto(`${orders.address}/${path}`);
  return page;
}

try {
  for (const [look, how] of Object.entries(LOOKS)) {
    for (const path of orders.pages) {
      const page = await open(path, how);
      await page.addScriptTag({ content: AXE });
      const asked = how === LOOKS.light ? TAGS : { type: "rule", values: SEEN };
      const seen = await page.evaluate(async (rules) => {
        const root = document.documentElement;
        const checked = await axe.run("article", { runOnly: rules, resultTypes: ["violations"] });
        return {
          overflow: root.scrollWidth > root.clientWidth + 1,
          broken: [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src),
          violations: checked.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]),
        };
      }, asked);
      found.pages.push({ look, path, ...seen });
      if (orders.folder) {
        const name = `${path.replaceAll("/", "_")}-${look}.png`;
        await page.screenshot({ path: `${orders.folder}/${name}` });
      }
      await page.close();
    }
  }
  const page = await open(`search.html?q=${orders.search}`, LOOKS.light);
  await page.waitForSelector("#search-results li a", { timeout: 20_000 });
  found.hits = (await page.$$("#search-results li a")).length;
  for (const [path, typed] of Object.entries(orders.exercises)) {
    const page = await open(path, LOOKS.light);
    for (const [name, text] of typed) {
      const box = await page.$(`#exercise-${name}`);
      await box.evaluate((input) => { input.value = ""; });
      await box.type(text);
      await box.press("Enter");
      found.said.push(await page.$eval(`output[for="exercise-${name}"]`, (output) => output.textContent));
    }
    await page.setJavaScriptEnabled(false);
    await page.reload();
    const boxes = await page.$$("form.exercise, details");
    found.hidden.push(await Promise.all(boxes.map((one) => one.isVisible())));
    await page.close();
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(found));
