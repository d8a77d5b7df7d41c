// Goes through the pages of a service in a real browser, with the keyboard, and checks each with axe.
// Usage: node pages.mjs ORDERS.json, with { chromium, address, token, reviewer }; prints JSON.
// With a "folder" in it, pictures of all pages are in that.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
// What of a page depends on its colours and its width; the rest is checked where it is light and wide.
const SEEN = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"];
const orders = JSON.parse(readFileSync(process.argv[2], "utf8"));
const found = { pages: [], console: [], notes: {} };

const browser = await puppeteer.launch({
  executablePath: orders.chromium,
  protocolTimeout: 60_000,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
});

async function newPage(options = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width: options.width ?? 1100, height: 900 });
  const features = [{ name: "prefers-color-scheme", value: options.scheme ?? "light" }];
  await page.emulateMediaFeatures(features);
  if (options.scripts === false) await page.setJavaScriptEnabled(false);
  page.on("console", (message) => found.console.push(message.text()));
  page.on("pageerror", (error) => found.console.push(String(error)));
  return page;
}

async function check(page, name, axe = true, rules = TAGS) {
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1,
  );
  const title = await page.title();
  const shot = { path: `${orders.folder}/${name}.png`, fullPage: true };
  if (orders.folder) await page.screenshot(shot);
  const seen = await page.evaluate(() => {
    const shown = (element) => element.getClientRects().length > 0;
    const charts = [...document.querySelectorAll("svg.chart[viewBox]")].filter(shown);
    const sizes = charts.flatMap((chart) => {
      const scale = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;
      const texts = [...chart.querySelectorAll("text")];
      return texts.map((text) => scale * parseFloat(getComputedStyle(text).fontSize));
    });
    const [brand, out] = [".brand", ".out button"].map((one) => document.querySelector(one));
    const cut = [...document.querySelectorAll(".wide")].filter((e) => e.scrollWidth > e.clientWidth + 1);
    return {
      smallest: Math.min(99, ...sizes),
      cut: cut.length,
      menu: document.querySelectorAll("nav[aria-label=Pages]").length,
      signOut: out && brand ? out.getBoundingClientRect().top - brand.getBoundingClientRect().top : 0,
    };
  });
  if (!axe) {
    found.pages.push({ name, title, overflow, ...seen, wrong: [], passes: 0 });
    return;
  }
  // In a world of its own: the page's policy lets no script of elsewhere in, also not this one.
  const client = await page.createCDPSession();
  const { frameTree } = await client.send("Page.getFrameTree");
  const { executionContextId } = await client.send("Page.createIsolatedWorld", {
    frameId: frameTree.frame.id,
  });
  const run = async (expression) => {
    const done = await client.send("Runtime.evaluate", {
      expression,
      contextId: executionContextId,
      awaitPromise: true,
      returnByValue: true,
    });
    if (done.exceptionDetails) throw new Error(JSON.stringify(done.exceptionDetails));
    return done.result.value;
  };
  await run(AXE + "; 1");
  const checked = await run(
    `axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ["violations"] }).then((r) => ({
      wrong: r.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]),
      passes: r.passes.length }))`,
  );
  found.pages.push({ name, title, overflow, ...seen, ...checked });
}

const rulesOf = (options) => options.scheme === "dark" ? { type: "rule", values: SEEN } : TAGS;

async function signIn(page, token) {
  await page.goto(`${orders.address}/`);
  await page.focus("#token");
  await page.keyboard.type(token);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
}

async function submit(page, selector) {
  await page.focus(selector);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
}

async function walk(name, options) {
  const page = await newPage(options);
  const see = (what) => check(page, `${name}-${what}`, options.scripts !== false, rulesOf(options));
  const go = (path) => page.goto(orders.address + path);
  await go("/sign-in");
  await see("sign-in");
  await signIn(page, orders.token);
  await see("datasets");
  await go("/datasets/visits");
  await see("dataset");
  await go("/datasets/visits/ask");
  await page.select("#statistic", "avg");
  await page.select("#column", "cost");
  await page.select("#by", "site");
  await submit(page, "button[value=write]");
  found.notes[`${name} sql`] = await page.$eval("#sql", (field) => field.value);
  await page.$eval("#amount", (field) => { field.value = "0.5"; });
  await submit(page, "button[value=preview]");
  await see("preview");
  await submit(page, ".preview form button");
  await page.waitForSelector(".answer");
  await see("release");
  await Promise.all([page.waitForNavigation(), page.click(".seal a")]);
  await see("certificate");
  await go("/datasets/visits/ask");
  await page.$eval("#sql", (field) => { field.value = "drop table visits"; });
  await submit(page, "button[value=preview]");
  await see("refused");
  await go("/datasets/visits/plan");
  await page.$eval("#sql-1", (field) => { field.value = "select count(*) as n from visits"; });
  await page.$eval("#sql-2", (field) => {
    field.value = "select site, count(*) as k from visits group by site";
  });
  await submit(page, "button[value=preview]");
  await see("plan");
  await submit(page, ".preview form button");
  await page.waitForSelector(".answer");
  await see("plan-release");
  for (const path of ["releases", "tokens", "verify", "explorer", "nowhere"]) {
    await go(`/${path}`);
    await see(path);
  }
  await page.browserContext().close();
}

async function review() {
  const ada = await newPage();
  await signIn(ada, orders.token);
  await ada.goto(`${orders.address}/datasets/births/ask`);
  await ada.$eval("#sql", (field) => { field.value = "select count(*) as n from births"; });
  await submit(ada, "button[value=preview]");
  await submit(ada, ".preview form button");
  await check(ada, "waiting");
  const rita = await newPage();
  await signIn(rita, orders.reviewer);
  await rita.goto(`${orders.address}/approvals`);
  await check(rita, "approvals");
  await Promise.all([rita.waitForNavigation(), rita.click("tbody a")]);
  await check(rita, "decision");
  await submit(rita, "form[action$='/approve'] button");
  await rita.goto(`${orders.address}/audit`);
  await check(rita, "audit");
  await rita.goto(`${orders.address}/tokens`);
  await rita.type("#name", "bob");
  await submit(rita, ".grid button");
  await check(rita, "tokens-made");
  await ada.reload();
  await ada.waitForSelector(".answer, #running");
}

// A question of four answers, chosen and previewed without a look at its SQL; its certificate.
async function four() {
  const ada = await newPage({ width: 1200 });
  await signIn(ada, orders.token);
  await ada.goto(`${orders.address}/datasets/visits/ask`);
  await ada.select("#statistic", "sum");
  await ada.select("#column", "cost");
  await ada.select("#by", "site");
  await submit(ada, "button[value=preview]");
  found.notes.clicked = await ada.$eval("#sql", (field) => field.value);
  found.notes.expected = (await ada.$$("#preview")).length;
  const sql = "select site, count(*) as visits, avg(cost) as typical, sum(cost) as total, " +
    "stddev(cost) as spread from visits group by site";
  await ada.$eval("#sql", (field, text) => { field.value = text; }, sql);
  await submit(ada, "button[value=preview]");
  await submit(ada, ".preview form:last-of-type button");
  await ada.waitForSelector(".answer");
  await check(ada, "four-release");
  await Promise.all([ada.waitForNavigation(), ada.click(".seal a")]);
  await check(ada, "four-certificate");
  await ada.setViewport({ width: 375, height: 800 });
  await check(ada, "four-phone-certificate");
  await ada.setViewport({ width: 673, height: 900 }); // of A4 between its margins
  await ada.emulateMediaType("print");
  await check(ada, "four-print-certificate", false);
}

// A curator declares a data set, sets its budget, begins a dashboard and a schedule, and looks at a collection.
async function curate(name, options) {
  const page = await newPage(options);
  const see = (what) => check(page, `${name}-${what}`, true, rulesOf(options));
  const go = (path) => page.goto(orders.address + path);
  await signIn(page, orders.reviewer);
  await go("/declare");
  await see("declare");
  await page.type("#name", `${name} stays`);
  await page.select("#file", `data/${name}.csv`);
  await submit(page, "form.stack button");
  await page.select("#person", "person");
  await page.type("#rows", "5");
  await page.type("#epsilon", "20");
  await page.type("#latency", "0.5");
  await page.type("#low2", "0");
  await page.type("#high2", "1000");
  await page.select("#kind3", "date");
  await page.type("#newname", "sites");
  await page.select("#newfile", "data/sites.csv");
  await submit(page, "button[value=add]");
  await page.select("#t1of", "public");
  await page.type("#t1key", "site");
  await see("declare-tables");
  await submit(page, "button[value=check]");
  await see("declare-checked");
  await submit(page, "button[value=declare]");
  await see("declared");
  const home = `/datasets/${name}%20stays`;
  await go(`${home}/declaration`);
  await see("declaration");
  await go(`${home}/budget`);
  await page.type("#who", "oncology");
  await page.type("#cap", "1/2");
  await page.type("#cap-reason", "a share");
  await submit(page, "button[value=cap]");
  await see("budget");
  await go(`${home}/count`);
  await page.type("#start", "2026-01-01");
  await submit(page, "button[value=preview]");
  await see("count");
  await submit(page, "button[value=begin]");
  await page.waitForSelector("svg.chart", { timeout: 100 }).catch(() => {});
  for (let step = 0; step < 60 && !(await page.$("svg.chart")); step++) {
    await new Promise((done) => setTimeout(done, 500));
    await page.reload();
  }
  found.notes[`${name} charts`] = (await page.$$("svg.chart")).length;
  await see("dashboard");
  await go("/dashboards");
  await see("dashboards");
  await go("/datasets/visits/schedule");
  await page.type("#sql-1", "select count(*) as n from visits");
  await page.type("#start", "2126-01-31");
  await page.type("#tag", name);
  await submit(page, "button[value=preview]");
  await see("new-schedule");
  await submit(page, "button[value=begin]");
  await see("schedule");
  await go("/schedules");
  await see("schedules");
  await go("/collections");
  await see("collections");
  await go("/collections/colour?poisoned=5");
  await see("collection");
  await page.browserContext().close();
}

// Everything is reached with Tab alone, and what has the focus shows it.
async function keyboard() {
  const page = await newPage();
  await signIn(page, orders.token);
  await page.goto(`${orders.address}/datasets/visits/ask`);
  const seen = [];
  let unseen = 0;
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press("Tab");
    const now = await page.evaluate(() => {
      const at = document.activeElement;
      const style = getComputedStyle(at);
      const shows = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
      return [at.tagName, at.id || at.getAttribute("href") || at.value || "", shows];
    });
    if (now[0] === "BODY") break;
    seen.push(`${now[0]} ${now[1]}`);
    if (!now[2]) unseen += 1;
  }
  found.notes.keyboard = seen;
  found.notes.unseen = unseen;
}

// The explorer moves a point by its slider and by dragging it.
async function explore() {
  const page = await newPage();
  await page.goto(`${orders.address}/explorer`);
  const before = await page.$eval("#found", (part) => part.textContent);
  const settled = () => page.waitForSelector("#found:not([aria-busy])");
  await page.focus("#person-4");
  for (let step = 0; step < 10; step++) await page.keyboard.press("ArrowLeft");
  await settled();
  found.notes.answered = (await page.$eval("#found", (part) => part.textContent)) !== before;
  found.notes.slid = await page.$eval("#values", (field) => field.value);
  const point = await page.$("svg .person");
  const box = await point.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y, { steps: 5 });
  await page.mouse.up();
  await settled();
  found.notes.dragged = await page.$eval("#values", (field) => field.value);
}

try {
  await walk("light", {});
  await walk("dark-phone", { scheme: "dark", width: 380 });
  await walk("plain", { scripts: false });
  await review();
  await four();
  await curate("desk", {});
  await curate("night", { scheme: "dark", width: 380 });
  await keyboard();
  await explore();
} finally {
  await browser.close();
}
console.log(JSON.stringify(found));
