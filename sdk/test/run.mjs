// `node|bun|deno run sdk/test/run.mjs` prints "works", or fails.
import { keepsPromises } from './smoke.mjs';

await keepsPromises();
console.log('works');
