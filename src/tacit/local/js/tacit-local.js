// Randomise one answer on the device of the person who gives it, and write the report.
//
//   import { Client } from "./tacit-local.js";
//   const client = new Client(config);          // config: tacit.local.client_config(oracle), as JSON
//   const { bytes, json } = client.report("yes");  // the true answer goes nowhere else
//
// A module without dependencies, on WebCrypto.  Every draw has exactly the probabilities of the
// Python mechanism of the same name, takes its random bytes in the same order, and writes the same
// bytes: both are held to the same test vectors.  Whole numbers are little-endian.

const secureBytes = (n) => crypto.getRandomValues(new Uint8Array(n));
const hexOf = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (h) => parseInt(h, 16));

class TacitError extends Error {}

// `bytes(n)` gives n random bytes; tests alone hand in another source than WebCrypto.
class Draws {
  constructor(bytes) {
    this.bytes = bytes;
  }

  word(width) {
    return this.bytes(width / 8).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  }

  // True with probability numerator / 2**bits.
  coin({ numerator, bits }) {
    const width = [8, 16, 32, 64].find((w) => bits <= w);
    return this.word(width) < BigInt(numerator) << BigInt(width - bits);
  }

  // Uniform below k <= 2**32: masked for a power of two, else by rejection (Lemire 2019).
  below(k) {
    if ((k & (k - 1)) === 0 && k <= 2 ** 31) {
      return Number(this.word(k <= 256 ? 8 : k <= 65536 ? 16 : 32)) % k;
    }
    const width = k <= 4096 ? 16 : 32;
    const bound = BigInt(k), whole = 1n << BigInt(width);
    for (;;) {
      const product = this.word(width) * bound;
      if (product % whole >= whole % bound) return Number(product / whole);
    }
  }

  // `count` bits of probability numerator / 2**bits each, 8 to a byte: a chain of AND and OR.
  bits({ numerator, bits }, count) {
    const bytes = Math.ceil(count / 8), row = new Uint8Array(Math.ceil(bytes / 8) * 8);
    const digits = Array.from({ length: bits }, (_, i) => (BigInt(numerator) >> BigInt(i)) & 1n);
    for (let start = 0; start < row.length; start += 65536) {
      const part = row.subarray(start, start + 65536);
      const first = digits.indexOf(1n);
      part.set(this.bytes(part.length));
      for (const digit of digits.slice(first + 1)) {
        const fresh = this.bytes(part.length);
        for (let i = 0; i < part.length; i++) part[i] = digit ? part[i] | fresh[i] : part[i] & fresh[i];
      }
    }
    const used = row.slice(0, bytes);
    if (count % 8) used[bytes - 1] &= (1 << count % 8) - 1;
    return used;
  }
}

const oddBits = (word) => {
  let odd = 0;
  for (; word; word &= word - 1) odd ^= 1;
  return odd;
};

// The bucket of an item under a seed: see tacit.local.kernels.hash_family.
const bucket = (seed, item, g) => {
  let h = (Math.imul(item >>> 1, 0x9e3779b1) + seed) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b) >>> 0;
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35) >>> 0;
  h = (h ^ (h >>> 16)) >>> 0;
  return Math.floor((((item & 1 ? h >>> 16 : h) & 0xffff) * g) / 65536);
};

// Each takes the place of the true item, and gives the report as a whole number or a row of bytes.
const mechanisms = {
  direct({ items, p }, place, draws) {
    const kept = draws.coin(p);
    const step = 1 + draws.below(items - 1);
    return BigInt((place + (kept ? 0 : step)) % items);
  },

  unary({ items, p, q }, place, draws) {
    const row = draws.bits(q, items);
    const own = draws.coin(p);
    for (let i = 0; i < row.length; i++) {
      const mask = i === place >> 3 ? 1 << (place & 7) : 0;
      row[i] = (row[i] & ~mask) | (own ? mask : 0);
    }
    return row;
  },

  hashing({ p, buckets, seedBits }, place, draws) {
    const seed = Number(draws.word(32) >> BigInt(32 - seedBits));
    const step = buckets === 2 ? 1 : 1 + draws.below(buckets - 1);
    const moved = bucket(seed, place, buckets) + (draws.coin(p) ? 0 : step);
    return BigInt(seed) * BigInt(buckets) + BigInt(moved % buckets);
  },

  hadamard({ keep, blocks, blockSize }, place, draws) {
    const drawn = draws.below(blocks * blockSize);
    const kept = draws.coin(keep);
    const column = drawn % blockSize, row = Math.floor(place / blocks) + 1;
    const inside = oddBits(row & column) ? column ^ (row & -row) : column;
    return BigInt(kept ? (place % blocks) * blockSize + inside : drawn);
  },
};

export class Client {
  #config;
  #source;

  constructor(config, source = secureBytes) {
    if (config?.tacit_client !== 1) throw new TacitError("this is no question of Tacit, version 1");
    if (!(config.draw.kind in mechanisms)) throw new TacitError(`unknown: ${config.draw.kind}`);
    this.#config = config;
    this.#source = source;
  }

  // The answers that may be given: text, numbers or booleans.
  get answers() {
    const { labels } = this.#config;
    return Array.isArray(labels) ? labels : Array.from({ length: labels }, (_, i) => i);
  }

  // The loss of one report, from the numbers that it is drawn with.
  get epsilon() {
    const { kind, items, p, q, keep, buckets, blocks } = this.#config.draw;
    const share = (x) => Number(x.numerator) / 2 ** x.bits;
    if (kind === "hadamard") return Math.log1p((2 * blocks * share(keep)) / (1 - share(keep)));
    const odds = (x) => share(x) / (1 - share(x));
    const among = { direct: items - 1, hashing: buckets - 1 }[kind];
    return Math.abs(Math.log(kind === "unary" ? odds(p) / odds(q) : odds(p) * among));
  }

  #place(answer) {
    const { labels, other, missing } = this.#config;
    if (answer === null || answer === undefined || Number.isNaN(answer)) {
      if (missing >= 0) return missing;
    } else if (Array.isArray(labels)) {
      if (labels.includes(answer)) return labels.indexOf(answer);
    } else if (Number.isInteger(answer) && answer >= 0 && answer < labels) {
      return answer;
    }
    if (other < 0 || (answer ?? null) === null) {
      throw new TacitError("this answer is not one of the listed ones, and was not sent");
    }
    return other;
  }

  // Randomise an answer.  `bytes` is what is sent, `json` the same for people to read.
  report(answer) {
    const place = this.#place(answer);
    const { mechanism, code, schema, draw, payloadBits } = this.#config;
    const drawn = mechanisms[draw.kind](draw, place, new Draws(this.#source));
    const id = this.#source(16);
    const size = Math.ceil(payloadBits / 8);
    const payload = drawn instanceof Uint8Array ? drawn
      : Uint8Array.from({ length: size }, (_, i) => Number((drawn >> BigInt(8 * i)) & 255n));
    const head = [0x54, 0x4c, 0x52, 1, ...bytesOf(code), ...bytesOf(schema)];
    const report = drawn instanceof Uint8Array
      ? Array.from({ length: draw.items }, (_, i) => (drawn[i >> 3] >> (i & 7)) & 1).join("")
      : Number(drawn);
    return {
      bytes: Uint8Array.from([...head, ...id, ...payload]),
      json: { tacit_report: 1, mechanism, schema, id: hexOf(id), report },
    };
  }
}
