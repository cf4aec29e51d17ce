import { validatorOf } from '../../edge/validation.ts';
import type { Config } from '../../ground/config.ts';
import { ApiError, errorBody, refuse, refuseFields } from '../../ground/errors.ts';
import { createMail } from '../../ground/mail.ts';
import { normalisePixKey } from '../../kinds/transfer/pix-key.ts';
import type { PixKeyType } from '../../provider/provider.ts';
import { createTill } from '../../store/till.ts';
import { findOwner } from './draft.sql.ts';
import { createDraft, type DraftDeps } from './draft.ts';
import { TransferBody } from './schema.ts';

const validate = validatorOf(TransferBody as Parameters<typeof validatorOf>[0], 'body');

interface CommandDeps extends Omit<DraftDeps, 'till' | 'identity' | 'mail'> {
  config: Config;
}

interface WantedDraft {
  amountCents: number;
  pixKey: string;
  pixKeyType: string;
  description: string;
  email: string;
}

/**
 * A draft from the command line, by the rules of a transfer's fields.
 * @returns its id, and the request key that it took
 * @throws Error a sentence that says what is wrong
 */
export async function draftOfCommand(
  context: CommandDeps,
  operationId: string,
  wanted: WantedDraft,
): Promise<{ id: string; requestKey: string }> {
  try {
    return await draftFor(context, operationId, wanted);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new Error([errorBody(error, 'en', '').message].flat().join('; '));
  }
}

async function draftFor(
  context: CommandDeps,
  operationId: string,
  wanted: WantedDraft,
): Promise<{ id: string; requestKey: string }> {
  const { config, sql, clock, ids, log, secrets } = context;
  const { email, ...fields } = wanted;
  if (!/^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/.test(email)) throw new Error(`--email: ${email} is no e-mail address`);
  const requestKey = ids.uuid();
  const request = validate({ ...fields, requestKey }) as typeof fields & { pixKeyType: PixKeyType };
  const pixKey = normalisePixKey(request.pixKeyType, request.pixKey, config);
  if (!pixKey.ok)
    throw refuseFields([{ field: 'pixKey', code: 'invalid_pix_key', pixKeyType: request.pixKeyType }]);
  const owner = await findOwner(sql, operationId);
  if (!owner) throw refuse('operation_not_found');
  const [installation] = await sql.run<{ identity: Buffer }>({
    name: 'draft_identity',
    text: 'SELECT identity_secret AS identity FROM installation',
  });
  if (!installation) throw new Error('the installation has no row: its migrations have not run');
  const deps = {
    sql,
    clock,
    ids,
    secrets,
    log,
    identity: installation.identity,
    till: createTill({ sql, clock, log }),
    mail: createMail(config, { clock, ids, sql }),
  };
  const caller = {
    ...owner,
    operationId,
    operationNamed: true,
    keyId: null,
    permissions: new Set(['transfers'] as const),
    requestId: 'command line',
  };
  const payment = await createDraft(deps, caller, { ...request, pixKey: pixKey.key, requestKey }, email);
  return { id: payment.id, requestKey };
}
