// `node|bun|deno run sdk/test/run.mjs ACCOUNT` prints "works", or fails. ACCOUNT: {"apiKey", "baseUrl"} of a test account.
import { keepsPromises } from './smoke.mjs';

await keepsPromises(JSON.parse(globalThis.process.argv[2]));
console.log('works');
