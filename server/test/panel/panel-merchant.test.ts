import { mailsTo, newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A merchant's settings in the panel: its own look, and its receivers. */

let service: Service;
let merchant: Merchant;
let owner: Tab;
let finance: Tab;
let viewer: Tab;
let stranger: Tab;
let strangers: Merchant;

async function signedIn(of: Merchant, email: string, role: Parameters<typeof newPerson>[3]): Promise<Tab> {
  await newPerson(service, of.ownerId, email, role);
  const tab = openTab(service);
  await tab.signIn(email);
  return tab;
}

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  strangers = await service.newMerchant();
  await merchant.receive(50_000);
  owner = await signedIn(merchant, 'ana@padaria.example', 'owner');
  finance = await signedIn(merchant, 'bia@padaria.example', 'finance');
  viewer = await signedIn(merchant, 'leo@padaria.example', 'viewer');
  stranger = await signedIn(strangers, 'rui@feira.example', 'owner');
});
afterAll(() => service?.close());

const at = (path: string, of = merchant): string => `/accounts/${of.ownerId}${path}`;
const events = (kind: string) =>
  service.database.admin<{ detail: Record<string, unknown> }>(
    `SELECT detail FROM security_event WHERE kind = '${kind}' ORDER BY id`,
  );

describe('the merchant profile', () => {
  const profile = {
    displayName: 'Padaria São João',
    legalName: 'São João Pães Ltda.',
    cnpj: '12.ABC.345/01DE-35',
    colour: '#14467C',
  };
  const save = (tab: Tab, body: object) => tab.call('POST', at('/merchant-profile'), body);

  test('is set by who decides about the account, read by every member, and recorded', async () => {
    expect((await owner.call('GET', at('/merchant-profile'))).body).toEqual({
      displayName: null,
      legalName: null,
      cnpj: null,
      colour: null,
      logoVersion: null,
    });
    const { status, body } = await save(owner, profile);
    expect([status, body]).toEqual([
      200,
      { ...profile, cnpj: '12ABC34501DE35', colour: '#14467c', logoVersion: null },
    ]);
    expect((await viewer.call('GET', at('/merchant-profile'))).body).toEqual(body);
    for (const tab of [finance, viewer]) expect((await save(tab, profile)).body.code).toBe('role_denied');
    expect((await stranger.call('GET', at('/merchant-profile'))).status).toBe(404);
    expect((await save(stranger, profile)).status).toBe(404);
    expect((await stranger.call('GET', at('/merchant-profile', strangers))).body.displayName).toBeNull();
    expect((await events('profile.changed')).length).toBe(1);
  });

  test.each([
    ['a CNPJ with a wrong digit', { cnpj: '12.ABC.345/01DE-36' }, 'cnpj_invalid'],
    ['an empty CNPJ', { cnpj: '' }, 'cnpj_invalid'],
    ['a colour on which white cannot be read', { colour: '#ffee00' }, 'colour_too_light'],
    ['a colour that is none', { colour: 'red; background: url(//evil.example)' }, 'validation_failed'],
    ['a name of one letter', { displayName: 'P' }, 'validation_failed'],
    ['a legal name of one letter', { legalName: 'P' }, 'validation_failed'],
    ['a name with a line break', { displayName: 'Padaria\nCNPJ 00' }, 'validation_failed'],
    ['a field that does not exist', { logo: 'x' }, 'validation_failed'],
  ])('%s is refused and changes nothing', async (_what, change, code) => {
    await save(owner, profile);
    const { status, body } = await save(owner, { ...profile, ...change });
    expect([status, body.code]).toEqual([400, code]);
    expect((await owner.call('GET', at('/merchant-profile'))).body.displayName).toBe('Padaria São João');
  });

  test('its logo is stored from its pixels, sent as nothing but a picture, and taken away again', async () => {
    const put = (tab: Tab, sent: Buffer) =>
      tab.call('POST', at('/merchant-profile/logo'), { png: sent.toString('base64') });
    const logo = PNG.sync.write(new PNG({ width: 120, height: 40 }));
    expect((await put(finance, logo)).body.code).toBe('role_denied');
    expect((await put(owner, Buffer.from('<svg onload="alert(1)"/>'.padEnd(200)))).body.code).toBe(
      'logo_refused',
    );
    expect((await put(owner, Buffer.alloc(70_000))).status).toBe(413);
    expect((await put(owner, logo)).status).toBe(200);
    const { logoVersion } = (await viewer.call('GET', at('/merchant-profile'))).body;
    expect(logoVersion).toMatch(/^\d+$/);
    const sent = await fetch(`${service.url}/panel/api${at('/merchant-profile/logo.png')}`, {
      headers: { cookie: viewer.cookie() },
    });
    expect(sent.headers.get('content-type')).toBe('image/png');
    expect(sent.headers.get('x-content-type-options')).toBe('nosniff');
    expect(sent.headers.get('content-security-policy')).toContain('sandbox');
    expect(PNG.sync.read(Buffer.from(await sent.arrayBuffer())).width).toBe(120);
    expect((await stranger.call('GET', at('/merchant-profile/logo.png'))).status).toBe(404);
    expect((await openTab(service).call('GET', at('/merchant-profile/logo.png'))).status).toBe(401);
    // The file with the logo, of a charge and of a refund, is a PDF all the same.
    const [charge] = (await owner.call('GET', at('/records?kind=deposit'))).body.records;
    const pdf = await owner.call('GET', at(`/records/${charge.id}/receipt.pdf`));
    expect(pdf.body).toMatch(/^%PDF-/);
    expect(pdf.body).toContain('/Subtype /Image');
    expect((await owner.call('POST', at('/merchant-profile/logo/remove'), {})).status).toBe(200);
    expect((await owner.call('GET', at('/merchant-profile'))).body).toMatchObject({
      logoVersion: null,
      displayName: 'Padaria São João',
    });
    expect((await owner.call('GET', at('/merchant-profile/logo.png'))).status).toBe(404);
  });

  test('stands in the mail with the code of a transfer', async () => {
    await save(owner, profile);
    const asked = await finance.call('POST', at('/drafts'), {
      amountCents: 1_000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    });
    expect(asked.status).toBe(201);
    await until(async () =>
      (await mailsTo(service, 'bia@padaria.example')).some((mail) => mail.includes(asked.body.id)),
    );
    const mail = (await mailsTo(service, 'bia@padaria.example')).find((one) => one.includes(asked.body.id));
    expect(mail).toContain('Padaria São João, CNPJ 12.ABC.345/01DE-35');
  });
});

describe('saved receivers', () => {
  const receiver = (fields: object = {}) => ({
    name: 'Moinho Novo',
    pixKeyType: 'CPF',
    pixKey: '52998224725',
    ...fields,
  });
  const save = (tab: Tab, fields: object = {}) => tab.call('POST', at('/receivers'), receiver(fields));
  const list = async (tab: Tab) => (await tab.call('GET', at('/receivers'))).body;

  test('are kept sealed, listed by name for who transfers, and recorded without their key', async () => {
    const { status, body } = await save(finance);
    expect([status, body]).toMatchObject([201, receiver()]);
    await save(owner, { name: 'Açúcar & Cia', pixKeyType: 'EMAIL', pixKey: ' Contato@Acucar.example ' });
    const { receivers } = await list(finance);
    expect(receivers.map((one: { name: string; pixKey: string }) => [one.name, one.pixKey])).toEqual([
      ['Açúcar & Cia', 'contato@acucar.example'],
      ['Moinho Novo', '52998224725'],
    ]);
    const rows = await service.database.admin<{ row: string }>(
      "SELECT saved_receiver::text || encode(pix_key, 'escape') AS row FROM saved_receiver",
    );
    expect(rows.length).toBe(2);
    for (const { row } of rows) expect(row).not.toMatch(/52998224725|acucar\.example/);
    const recorded = await events('receiver.saved');
    expect(recorded[0]?.detail).toEqual({ receiverId: body.id });
    // The one audit log has it too, in the chain of the account.
    const audit = await service.database.admin(
      `SELECT actor, subject, detail ->> 'receiverId' AS receiver, seq IS NOT NULL AS chained FROM audit
        WHERE account_id = $1 AND action = 'receiver.saved' ORDER BY seq LIMIT 1`,
      [merchant.ownerId],
    );
    expect(audit).toEqual([
      {
        actor: expect.stringMatching(/^panel:[0-9a-f-]{36}$/),
        subject: merchant.ownerId,
        receiver: body.id,
        chained: true,
      },
    ]);
  });

  test('are for neither viewers nor strangers, and are removed once', async () => {
    const { id } = (await save(finance, { name: 'Por engano' })).body;
    for (const answer of [
      await viewer.call('GET', at('/receivers')),
      await save(viewer),
      await viewer.call('POST', at(`/receivers/${id}/remove`), {}),
    ]) {
      expect(answer.body.code).toBe('role_denied');
    }
    expect((await stranger.call('POST', at(`/receivers/${id}/remove`, strangers), {})).status).toBe(404);
    expect((await finance.call('POST', at(`/receivers/${id}/remove`), {})).status).toBe(200);
    expect((await finance.call('POST', at(`/receivers/${id}/remove`), {})).status).toBe(404);
    expect((await list(finance)).receivers.map((one: { id: string }) => one.id)).not.toContain(id);
  });

  test.each([
    { pixKey: '52998224724' },
    { pixKey: '529.982.247-25' },
    { pixKeyType: 'EMAIL', pixKey: 'nobody' },
    { pixKeyType: 'PIX' },
    { name: '' },
  ])('with %j is refused and not kept', async (wrong) => {
    const before = (await list(finance)).receivers.length;
    expect((await save(finance, wrong)).status).toBe(400);
    expect((await list(finance)).receivers.length).toBe(before);
  });

  test('are five hundred at most', async () => {
    const [row] = await service.database.admin<{ count: number }>(
      `SELECT count(*) FROM saved_receiver WHERE account_id = '${merchant.ownerId}'`,
    );
    await service.database.admin(
      `INSERT INTO saved_receiver (account_id, id, name, pix_key_type, pix_key, created_by, created_at)
       SELECT '${merchant.ownerId}', gen_random_uuid(), 'x', 'CPF', '\\x00', gen_random_uuid(), now()
       FROM generate_series(1, ${500 - Number(row?.count)})`,
    );
    expect((await save(finance)).body.code).toBe('receiver_limit_reached');
    // A value that cannot be opened hides none of the others.
    expect((await list(finance)).receivers.length).toBe(Number(row?.count));
  });
});
