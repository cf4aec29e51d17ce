import { parentPort } from 'node:worker_threads';
import { explore } from './explore.ts';
import { long, planted, quick } from './settings.ts';

/** Explores the settings that it is sent the names of, one at a time, and answers with what it found. */
const known = [...quick, ...long, ...planted];

parentPort?.on('message', async (name: string) => {
  const setting = known.find((one) => one.name === name);
  if (!setting) throw new Error(`there is no setting "${name}"`);
  parentPort?.postMessage(await explore(setting));
});
