// node vectors.mjs CLIENT.js VECTORS.json: the browser's client against the shared vectors.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [, , clientPath, vectorPath] = process.argv;
const { Client } = await import(pathToFileURL(clientPath));
const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
let checked = 0;

for (const { name, client: config, cases } of JSON.parse(await readFile(vectorPath, "utf-8"))) {
  if (!config) continue;
  for (const [i, wanted] of cases.entries()) {
    const random = Uint8Array.from(Buffer.from(wanted.random, "hex"));
    let used = 0;
    const client = new Client(config, (n) => random.subarray(used, (used += n)));
    const made = client.report(wanted.answer);
    const same = hex(made.bytes) === wanted.bytes && JSON.stringify(made.json) === JSON.stringify(wanted.json);
    if (!same || used !== random.length) {
      console.error(`${name}, case ${i}: ${hex(made.bytes)} and not ${wanted.bytes}; ${used} of ${random.length} bytes`);
      process.exitCode = 1;
    }
    checked += 1;
  }
}
console.log(checked);
