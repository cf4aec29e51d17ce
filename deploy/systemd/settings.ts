/**
 * The command of operators beside the units (`vintem.sh`): reads /etc/vintem/settings as systemd does for `EnvironmentFile=`, sets what the
 * units set, and runs the program. A shell would read another value: it splits at spaces, replaces `$`, and runs what stands behind `;`.
 *
 *   node settings.ts FILE WORDS...
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

type State =
  | 'beforeKey'
  | 'key'
  | 'beforeValue'
  | 'value'
  | 'valueEscape'
  | 'single'
  | 'double'
  | 'doubleEscape'
  | 'comment'
  | 'commentEscape';

/** The rules of systemd 254 and later (systemd.exec(5), `parse_env_file`): the last assignment of a name counts. */
export function settingsIn(text: string): Record<string, string> {
  const settings: Record<string, string> = {};
  let state: State = 'beforeKey';
  let key = '';
  let value = '';
  /** Length of the value up to its last sign that stays when blanks at the end are cut. */
  let kept = 0;
  const add = (sign: string, stays = true): void => {
    value += sign;
    if (stays) kept = value.length;
  };
  const end = (): void => {
    const name = key.trimEnd();
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) settings[name] = value.slice(0, kept);
    [state, key, value, kept] = ['beforeKey', '', '', 0];
  };
  const isBlank = (sign: string): boolean => /[ \t\r]/.test(sign);
  for (const sign of `${text.replace(/\r\n/g, '\n')}\n`) {
    const isEnd = sign === '\n';
    if (state === 'beforeKey') {
      if (sign === '#' || sign === ';') state = 'comment';
      else if (!isEnd && !isBlank(sign)) [state, key] = ['key', sign];
    } else if (state === 'key') {
      if (isEnd) [state, key] = ['beforeKey', ''];
      else if (sign === '=') state = 'beforeValue';
      else key += sign;
    } else if (state === 'beforeValue' || state === 'value') {
      if (isEnd) end();
      else if (sign === '\\') state = 'valueEscape';
      else if (state === 'beforeValue' && sign === "'") state = 'single';
      else if (state === 'beforeValue' && sign === '"') state = 'double';
      else if (state === 'value') add(sign, !isBlank(sign));
      else if (!isBlank(sign)) {
        state = 'value';
        add(sign);
      }
    } else if (state === 'valueEscape') {
      state = 'value';
      if (!isEnd) add(sign);
    } else if (state === 'single') {
      if (sign === "'") state = 'beforeValue';
      else add(sign);
    } else if (state === 'double') {
      if (sign === '"') state = 'beforeValue';
      else if (sign === '\\') state = 'doubleEscape';
      else add(sign);
    } else if (state === 'doubleEscape') {
      state = 'double';
      if ('"\\`$'.includes(sign)) add(sign);
      else if (!isEnd) add(`\\${sign}`);
    } else if (isEnd) state = 'beforeKey';
    else state = state === 'comment' && sign === '\\' ? 'commentEscape' : 'comment';
  }
  return settings;
}

/** As in the units. */
const ofUnits = {
  NODE_ENV: 'production',
  DATA_DIR: '/var/lib/vintem',
  SIMULATOR_PORT: 'off',
  VINTEM_SECRET_FILE: '/etc/vintem/secret',
  DATABASE_URL_FILE: '/etc/vintem/database-url',
  MIGRATION_DATABASE_URL_FILE: '/etc/vintem/migration-database-url',
};

if (import.meta.main) {
  const [file = '', ...words] = process.argv.slice(2);
  const env = { ...process.env, ...settingsIn(readFileSync(file, 'utf8')), ...ofUnits };
  const entry = fileURLToPath(new URL('../../server/src/main/cli/launch.js', import.meta.url));
  // Ctrl-C reaches both: the program ends by itself, and this one with it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  const { status, signal } = spawnSync(process.execPath, [entry, ...words], { stdio: 'inherit', env });
  process.exitCode = status ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
