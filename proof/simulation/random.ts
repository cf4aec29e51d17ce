/** A seeded generator (sfc32): everything that happens by chance in a run comes from one of these. */
export interface Random {
  /** 0 to 1, 1 excluded. */
  next(): number;
  /** An integer from 0 up to `below`, excluded. */
  below(below: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  bytes(length: number): Buffer;
  /** How many numbers were drawn so far. */
  drawn(): number;
}

export function random(seed: number): Random {
  let [a, b, c, d] = [seed | 0, 0x9e3779b9 | 0, 0x243f6a88 | 0, 1];
  let drawn = 0;
  const draw = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    drawn++;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return t >>> 0;
  };
  for (let round = 0; round < 12; round++) draw();
  const one: Random = {
    next: () => draw() / 0x1_0000_0000,
    below: (below) => Math.floor(one.next() * below),
    chance: (probability) => one.next() < probability,
    pick: (from) => {
      const picked = from[one.below(from.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
    bytes: (length) => {
      const bytes = Buffer.allocUnsafe(length);
      for (let at = 0; at < length; at++) bytes[at] = draw() & 0xff;
      return bytes;
    },
    drawn: () => drawn,
  };
  return one;
}
