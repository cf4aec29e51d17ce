import { openBrowser, openWindow, signInAt } from '@vintem/testkit/browser.ts';
import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { hasError, parsePix } from 'pix-utils';
import type { Browser, Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installedJudges, type Judges, type Pixels } from './decoders.ts';

/**
 * Every QR code that a payer may point a camera at, read back out of pixels by three decoders, and its text by `pix-utils`: as a telephone
 * shows it and as a printer prints it.
 */

let judges: Judges;
let service: Service;
let browser: Browser;
let merchant: Merchant;
/** A telephone in a payer's or a merchant's hand. */
let phone: Page;

const telephone = 390;
/** Dots of an inch of paper: as a telephone's camera sees a sheet, and as a printer of receipts prints a roll. */
const office = 150;
const roll = 203;

beforeAll(async () => {
  [judges, service, browser] = await Promise.all([installedJudges(), openService(), openBrowser()]);
  merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'ana@padaria.example');
  phone = (await openWindow(browser, telephone)).page;
  await signInAt(phone, service.url, 'ana@padaria.example');
  await phone.getByRole('heading', { level: 1, name: 'Início' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

/** The page behind a public address, on the port that the test listens on. */
const here = (url: string): string => service.url + new URL(url).pathname;

const pixelsOf = (png: Buffer): Pixels => {
  const { width, height, data } = PNG.sync.read(png);
  return { width, height, data: new Uint8ClampedArray(data) };
};

/**
 * No decoder reads another text, and at least two of the three read this one: jsQR and ZXing each miss a large sharp symbol now and then.
 */
async function expectRead(pixels: Pixels, text: string, where: string): Promise<void> {
  const read = await Promise.all(Object.values(judges.decoders).map((decode) => decode(pixels)));
  const found = read.filter((one) => one !== null);
  expect([where, new Set(found)]).toEqual([where, new Set([text])]);
  expect([where, found.length]).toEqual([where, expect.toSatisfy((count: number) => count >= 2)]);
}

/** The page as it stands, in both schemes. */
async function expectOnScreen(text: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await phone.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const seen = pixelsOf(await phone.screenshot({ fullPage: true, animations: 'disabled' }));
    await expectRead(seen, text, `${phone.url()} ${colorScheme}`);
  }
}

/** The page as its printer gets it: on the paper that its style asks for. */
async function expectOnPaper(text: string, dotsPerInch: number): Promise<void> {
  const pdf = await phone.pdf({ preferCSSPageSize: true, printBackground: true });
  await expectRead(await judges.printed(pdf, dotsPerInch), text, `${phone.url()} at ${dotsPerInch} dpi`);
}

async function pdfAt(url: string, headers: Record<string, string>): Promise<Uint8Array> {
  const answer = await fetch(url, { headers });
  expect([url, answer.status]).toEqual([url, 200]);
  return new Uint8Array(await answer.arrayBuffer());
}

/** `pix-utils` reads the text with its checksum, and reads none of those that differ in a character. */
function expectPix(text: string, fields: object): void {
  expect(parsePix(text)).toMatchObject(fields);
  for (const at of [20, Math.floor(text.length / 2), text.length - 1]) {
    const changed = text.slice(0, at) + (text[at] === '0' ? '1' : '0') + text.slice(at + 1);
    expect([changed, hasError(parsePix(changed))]).toEqual([changed, true]);
  }
}

test('A charge’s code is the same on its payer’s page, in its image, on paper and in the panel, with amount, location and checksum', async () => {
  const { body: charge } = await merchant.charge({ amountCents: 12_345, description: 'Bolo de casamento' });
  const { copyPaste, qrCodeBase64 } = charge;
  const location = expect.stringContaining(charge.id.replaceAll('-', ''));
  expectPix(copyPaste, { type: 'DYNAMIC', url: location });
  expect(copyPaste).toContain('5406123.45');
  const image = pixelsOf(Buffer.from(qrCodeBase64.split(',')[1], 'base64'));
  await expectRead(image, copyPaste, 'the image of the API');
  await phone.goto(here(charge.payerUrl));
  await phone.getByRole('textbox', { name: 'Pix Copia e Cola' }).waitFor();
  await expectOnScreen(copyPaste);
  await expectOnPaper(copyPaste, office);
  for (const path of [`/pagamentos/${charge.id}`, `/pagamentos/${charge.id}/pagador`]) {
    await phone.goto(service.url + path);
    await phone.getByRole('img', { name: 'QR code do Pix copia e cola' }).waitFor();
    await expectOnScreen(copyPaste);
  }
});

test('A static code is the same on its page, on every poster of the panel and of the API, with amount, txid and checksum', async () => {
  const order = { name: 'Balcão 1', amountCents: 1_234, requestKey: crypto.randomUUID() };
  const { body: code } = await merchant.call('POST', '/static-codes', order);
  expectPix(code.copyPaste, { type: 'STATIC', txid: code.identifier, transactionAmount: 12.34 });
  await phone.goto(`${service.url}/qr-fixos/${code.id}`);
  await phone.getByTestId('copy-paste').waitFor();
  await phone.getByRole('img', { name: 'QR code' }).waitFor();
  await expectOnScreen(code.copyPaste);
  await phone.getByRole('link', { name: 'Imprimir cartaz' }).click();
  await expectPosters(code.copyPaste);
  for (const [size, dotsPerInch] of Object.entries({ a6: office, a4: office, '80mm': roll })) {
    const address = `${service.url}/api/v1/public/static-codes/${code.id}/poster.pdf?size=${size}`;
    const pdf = await pdfAt(address, { authorization: `Bearer ${merchant.key}` });
    await expectRead(await judges.printed(pdf, dotsPerInch), code.copyPaste, address);
  }
});

test('The poster of a link leads to the link on every paper', async () => {
  const { body: link } = await merchant.call('POST', '/payment-links', {
    ...{ title: 'Curso de cerâmica', amountCents: 25_000, requestKey: crypto.randomUUID() },
  });
  await phone.goto(`${service.url}/links/${link.id}/cartaz`);
  await expectPosters(link.url);
});

/** On the screen of a telephone and on the three papers. */
async function expectPosters(text: string): Promise<void> {
  await phone.getByRole('article', { name: 'Cartaz' }).getByRole('img').last().waitFor();
  for (const [name, dotsPerInch] of [
    ['A6', office],
    ['A4', office],
    ['80 mm', roll],
  ] as const) {
    await phone.getByRole('radio', { name }).check({ force: true });
    await expectOnScreen(text);
    await expectOnPaper(text, dotsPerInch);
  }
}

test('The code of a receipt leads to the page that checks it', async () => {
  const id = await merchant.paidCharge({ amountCents: 4_200 });
  const { body: charge } = await merchant.call('GET', `/payments/${id}`);
  await phone.goto(here(charge.payerUrl));
  const check = phone.getByRole('link', { name: 'Conferir este pagamento' });
  const path = (await check.getAttribute('href')) ?? '';
  const pdf = await pdfAt(`${here(charge.payerUrl)}/receipt.pdf`, { 'accept-language': 'pt-BR' });
  const address = new URL(path, charge.payerUrl).href;
  await expectRead(await judges.printed(pdf, office), address, 'the receipt');
  await phone.goto(here(address));
  await phone.getByRole('heading', { name: 'Pix liquidado' }).waitFor();
});
