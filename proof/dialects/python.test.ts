import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installedPython } from '../judges.ts';
import { type Recorder, startRecorder } from './recorder.ts';

/** Clients of the providers in Python judge the simulator, where Python is installed: it takes what they send, and they read what it answers. */

const python = await installedPython(new URL('python/', import.meta.url));

describe.runIf(python !== null)('A client in Python', () => {
  let recorder: Recorder;
  beforeAll(async () => {
    recorder = await startRecorder();
  });
  afterAll(() => recorder?.stop());

  async function day(script: string, ...words: string[]): Promise<unknown> {
    const file = fileURLToPath(new URL(`python/${script}`, import.meta.url));
    const { stdout } = await promisify(execFile)(python ?? '', [file, recorder.url, ...words]);
    return JSON.parse(stdout);
  }

  test('Efí’s own runs a day of a merchant', async () => {
    expect(await day('efi_day.py')).toEqual({
      ...{ charge: 'ATIVA', paid: 'CONCLUIDA', refund: 'EM_PROCESSAMENTO' },
      ...{ payout: 'EM_PROCESSAMENTO', done: 'REALIZADO', received: 1, sent: 1, balance: '35.25' },
    });
  });

  test.each(['sicoob', 'bb', 'sicredi'])('pypix-api runs a day of a merchant at %s', async (bank) => {
    expect(await day('api_pix_day.py', bank)).toEqual({
      ...{ charge: 'ATIVA', paid: 'CONCLUIDA', removed: 'REMOVIDA_PELO_USUARIO_RECEBEDOR', listed: 2 },
      ...{ received: 1, byEndToEnd: '50.00', refund: 'EM_PROCESSAMENTO', refundAsked: '5.00' },
      ...{ due: 'ATIVA', dueAsked: '80.00', webhook: true },
    });
  });

  // It is in no registry: `INTER_CLIENT` names the folder of a checkout.
  test.runIf(process.env.INTER_CLIENT)('Banco Inter’s own runs a day of a merchant', async () => {
    expect(await day('inter_day.py', process.env.INTER_CLIENT ?? '')).toEqual({
      ...{ charge: 'ATIVA', withoutId: 32, paid: 'CONCLUIDA', listed: 2, received: 1 },
      ...{ refund: 'EM_PROCESSAMENTO', refundAsked: '5.00', payout: 'PROCESSADO', done: 9.75 },
      ...{ enriched: ['ESTORNO D 5.00', 'PIX C 50.00', 'PIX D 9.75'], statement: 3, balance: 35.25 },
      ...{ callbacks: 50, webhook: true },
    });
  });

  test('no call of them was refused', () => {
    const asked = recorder.calls().filter(({ path }) => !path.startsWith('/nowhere'));
    expect(asked.length).toBeGreaterThan(40);
    expect(asked.filter(({ status }) => status >= 400)).toEqual([]);
  });
});
