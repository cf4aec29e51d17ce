import {
  rotateSecrets,
  type SealedUnder,
  statusOfSecrets,
} from '../../store/database/installation-secret.ts';
import { dropRetiredLogins } from '../../store/database/service-login.ts';
import { installationId, writeAudit } from '../../store/rows/audit.sql.ts';
import { type Context, onDatabase } from '../start.ts';
import { type Answer, type Command, table } from './command.ts';
import { operatorOf } from './operator-commands.ts';

/** Commands that change the secret of the installation. */
export const secretCommands: Command[] = [
  {
    name: 'secret status',
    about: 'how many stored values need which secret; secrets are shown by their id alone',
    run: async (edge) =>
      secretAnswer(await onDatabase(edge, 'secret status', statusOfSecrets, { anySecret: true })),
  },
  {
    name: 'secret rotate',
    about:
      'seals everything under VINTEM_SECRET that is sealed under another secret, beside a running service; may be interrupted and repeated',
    run: async (edge) =>
      secretAnswer(
        await onDatabase(edge, 'secret rotate', async (context) => {
          const status = await rotateSecrets(context);
          await recordRotation(context, status);
          await dropLoginsOfBefore(context);
          return status;
        }),
      ),
  },
];

/** Those of the secrets that are not needed any more, on a PostgreSQL of the operator's. */
async function dropLoginsOfBefore({ config, secrets, log }: Context): Promise<void> {
  const { databaseUrl: url, migrationDatabaseUrl } = config;
  if (url === null) return;
  await dropRetiredLogins({ url, migrationUrl: migrationDatabaseUrl ?? undefined }, secrets, log);
}

async function recordRotation(context: Context, { current, sealed }: SealedUnder): Promise<void> {
  const { sql, ids, clock, actor } = operatorOf(context);
  const audit = {
    accountId: installationId,
    id: ids.uuid(),
    at: clock.now(),
    actor,
    action: 'secret.rotate',
    subject: current,
    reason: null,
    detail: { sealed },
  };
  await sql.tx((tx) => writeAudit(tx, audit));
}

function secretAnswer(status: SealedUnder): Answer {
  const rows = status.sealed.map(({ secret, count }) => [
    secret,
    String(count),
    secret === status.current ? 'current' : '',
  ]);
  return {
    json: status,
    text: `current ${status.current}\n${table(rows, 'nothing is sealed')}`,
  };
}
