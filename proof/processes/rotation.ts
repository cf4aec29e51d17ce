import { randomBytes } from 'node:crypto';
import { command, type Part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { callWith, pause } from './clients.ts';
import { beginLoad, conclude, firstMerchant, type LoadFigures, noLoad, openScene } from './scene.ts';

/**
 * The secret of the installation is replaced, several times in a row, while clients send transfers. Each time: the service is killed and
 * started with the new secret and the previous one; `secret rotate` is killed at random moments, and so is the service beside it; then
 * it runs to its end, and the service starts without the previous secret. Every key that was ever made must work, a start with the old
 * secret must be refused, and the books must agree with the provider's truth and with the answers that the clients got.
 *
 *   node proof/processes/rotation.ts [--seed N] [--rotations N] [--kills N]
 */
export interface RotationFigures extends LoadFigures {
  rotations: number;
  kills: number;
  /** Values that the last run of each rotation found under its secret. */
  sealed: number[];
  /** Values that were left under the old secret after each kill. */
  leftAfterKills: number[];
  keys: number;
}

interface Status {
  current: string;
  sealed: { secret: string; count: number }[];
}

export async function rotations(options: {
  seed: number;
  rotations: number;
  kills: number;
  clients: number;
  say(line: string): void;
}): Promise<RotationFigures> {
  const figures: RotationFigures = {
    rotations: 0,
    kills: 0,
    sealed: [],
    leftAfterKills: [],
    keys: 0,
    ...noLoad(),
  };
  const must = (holds: boolean, what: string) => {
    if (!holds) figures.faults.push(what);
  };
  const chance = random(options.seed);
  await using scene = await openScene('rotation');
  const { url } = scene;
  const secrets = Array.from({ length: options.rotations + 1 }, () => randomBytes(32).toString('base64'));
  const settingsOf = (secret = '', previous?: string): Record<string, string> => ({
    VINTEM_SECRET: secret,
    ...(previous && { VINTEM_SECRET_PREVIOUS: previous }),
  });
  const ends = async (one: Part, signal: 'SIGTERM' | 'SIGKILL') => {
    one.signal(signal);
    await one.exited();
  };

  let running = scene.launch(['start'], { env: settingsOf(secrets[0]) });
  await running.start();
  const { key: first, call } = firstMerchant(scene, running);
  const keys = [first];
  const ownerId = (await call('GET', '/operations')).body?.ownerId as string;
  const { seed, clients } = options;
  using load = await beginLoad(scene, call, { seed, clients });
  await pause(3_000);

  for (let turn = 1; turn <= options.rotations; turn++) {
    const [old, current] = [secrets[turn - 1], secrets[turn]];
    const settings = settingsOf(current, old);
    const env = { ...scene.env, ...settings };
    await ends(running, chance.below(2) === 0 ? 'SIGKILL' : 'SIGTERM');
    figures.kills++;
    running = scene.launch(['start'], { env: settings });
    await running.start();
    const made = await command<{ key: string }>(
      ['key', 'create', '--account', ownerId, '--name', `turn ${turn}`, '--permissions', 'read,charges'],
      env,
    );
    must(made.code === 0, `key create ended with ${made.code}: ${made.text.slice(0, 500)}`);
    keys.push(made.json?.key ?? '');

    for (let kill = 0; kill < options.kills; kill++) {
      const rotating = scene.launch(['secret', 'rotate', '--json'], { env: settings });
      // Its end before it is killed is no fault: the next one finds nothing to do.
      const ended = rotating.start().catch(() => {});
      await pause(500 + chance.below(3_500));
      if (kill === 1) {
        await ends(running, 'SIGKILL');
        figures.kills++;
        running = scene.launch(['start'], { env: settings });
      }
      await ends(rotating, 'SIGKILL');
      await ended;
      figures.kills++;
      if (!running.isRunning()) await running.start();
      const status = await command<Status>(['secret', 'status'], env);
      must(status.code === 0, `secret status ended with ${status.code}: ${status.text.slice(0, 500)}`);
      figures.leftAfterKills.push(
        (status.json?.sealed ?? [])
          .filter(({ secret }) => secret !== status.json?.current)
          .reduce((sum, { count }) => sum + count, 0),
      );
    }
    const done = await command<Status>(['secret', 'rotate'], env);
    must(done.code === 0, `secret rotate ended with ${done.code}: ${done.text.slice(0, 500)}`);
    const others = (done.json?.sealed ?? []).filter(({ secret }) => secret !== done.json?.current);
    must(others.length === 0, `values are left under another secret: ${JSON.stringify(others)}`);
    figures.sealed.push(done.json?.sealed[0]?.count ?? 0);

    await ends(running, 'SIGTERM');
    running = scene.launch(['start'], { env: settingsOf(current) });
    await running.start();
    const refused = await command(['account', 'list'], { ...scene.env, ...settingsOf(old) });
    must(
      refused.code === 2 && /VINTEM_SECRET: \d+ stored values/.test(refused.text),
      `with the old secret a command ended with ${refused.code}: ${refused.text.slice(0, 300)}`,
    );
    for (const key of keys) {
      const { status } = await callWith(url, key)('GET', '/account');
      must(status === 200, `after rotation ${turn} a key is answered ${status}`);
    }
    figures.rotations++;
    options.say(
      `rotation ${turn}: ${figures.sealed.at(-1)} values sealed, ${keys.length} keys work, ${load.clients.counts.calls} calls so far`,
    );
  }

  figures.keys = keys.length;
  Object.assign(scene.env, settingsOf(secrets.at(-1)));
  await conclude(scene, load, figures);
  const incidents = await command<{ incidents: { kind: string }[] }>(['incident', 'list'], scene.env);
  const closed = incidents.json?.incidents.filter(({ kind }) => kind === 'unreadable').length;
  must(closed === 0, `${closed} values could not be opened`);
  return figures;
}

if (import.meta.main) {
  const figures = await rotations({
    ...numbersGiven({ seed: 1, rotations: 2, kills: 4, clients: 6 }),
    say: console.log,
  });
  console.log(JSON.stringify(figures));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
