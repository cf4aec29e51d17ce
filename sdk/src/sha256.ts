/**
 * HMAC-SHA-256 (RFC 2104, FIPS 180-4), synchronous. `crypto.subtle` answers later, and `node:crypto` is missing in workers and
 * browsers; a verification that returns at once cannot be forgotten to be awaited, which would accept every message.
 */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const inner = sha256(
    joined(
      block.map((byte) => byte ^ 0x36),
      message,
    ),
  );
  return sha256(
    joined(
      block.map((byte) => byte ^ 0x5c),
      inner,
    ),
  );
}

export function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

const { constants, initial } = primeRoots();

/** The first 32 bits of the fractions of the primes' cube roots, and of the first eight square roots. */
function primeRoots(): { constants: Int32Array; initial: Int32Array } {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const fraction = (root: number): number => (root - Math.floor(root)) * 2 ** 32;
  return {
    constants: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)) | 0),
    initial: Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)) | 0),
  };
}

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

function sha256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(((message.length + 72) >> 6) << 6);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, message.length << 3);
  const state = initial.slice();
  const words = new Int32Array(64);
  for (let offset = 0; offset < padded.length; offset += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(offset + 4 * i);
    compress(state, words);
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => {
    digest.setInt32(4 * i, word);
  });
  return new Uint8Array(digest.buffer);
}

function compress(state: Int32Array, w: Int32Array): void {
  const at = (words: Int32Array, i: number): number => words[i] as number;
  for (let i = 16; i < 64; i++) {
    const [early, late] = [at(w, i - 15), at(w, i - 2)];
    const s0 = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
    const s1 = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
    w[i] = at(w, i - 16) + s0 + at(w, i - 7) + s1;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  for (let i = 0; i < 64; i++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const one = (h + s1 + ((e & f) ^ (~e & g)) + at(constants, i) + at(w, i)) | 0;
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = at(state, i) + word;
  });
}
