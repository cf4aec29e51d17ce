import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';

/** How long each step of a support case took, ms. */
export interface SolvedCase {
  foundMs: number;
  storyMs: number;
  evidenceMs: number;
  /** The file for the customer's bank, or for a defence. */
  evidence: { takenBy: string; payment: { id: string; status: string; endToEnd: string } };
}

/**
 * "The customer paid, end-to-end E…": an operator who stands on any page of the console types the id, opens the payment, sees its postings, and takes the
 * evidence. By keyboard, as fast as the pages answer.
 */
export async function solveSupportCase(page: Page, endToEnd: string): Promise<SolvedCase> {
  const began = performance.now();
  await page.locator('main').focus();
  await page.keyboard.press('/');
  await page.getByRole('textbox', { name: 'Buscar' }).fill(endToEnd);
  await page.keyboard.press('Enter');
  const payment = page.getByRole('link', { name: 'Pagamento', exact: true });
  await payment.waitFor();
  const found = performance.now();
  await payment.press('Enter');
  await page.getByRole('heading', { name: 'Lançamentos' }).waitFor();
  const story = performance.now();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Baixar como evidência' }).press('Enter'),
  ]);
  const evidence = JSON.parse(await readFile(await download.path(), 'utf8'));
  const taken = performance.now();
  return { foundMs: found - began, storyMs: story - found, evidenceMs: taken - story, evidence };
}
