import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * A page without a mouse. What has the focus must be seen to have it: it, its label or what stands beside it looks otherwise than at
 * rest.
 */
export interface Keyboard {
  /** Presses Tab until this has the focus. Fails when nothing more gets it, or what gets it does not show it. */
  to(wanted: Locator): Promise<void>;
  /** The same backwards. */
  backTo(wanted: Locator): Promise<void>;
  /** Goes there and presses Enter, as on a button or a link. */
  press(wanted: Locator): Promise<void>;
  /** Goes there and types, in place of what stood there. */
  write(wanted: Locator, text: string): Promise<void>;
  type(text: string): Promise<void>;
  key(name: string): Promise<void>;
}

export const hasFocus = async (one: Locator): Promise<boolean> =>
  (await one.and(one.page().locator(':focus')).count()) > 0;

/** No page of the panel has as many stops. */
const stopsAtMost = 200;

export function keyboardOf(page: Page): Keyboard {
  const { keyboard } = page;
  const walk = async (wanted: Locator, step: 'Tab' | 'Shift+Tab'): Promise<void> => {
    await wanted.waitFor();
    // While an action is under way its button gets no focus.
    await expect.poll(() => wanted.isEnabled()).toBe(true);
    for (let stops = 0; stops < stopsAtMost; stops++) {
      if (await hasFocus(wanted)) return;
      await page.evaluate(rememberLooks);
      await keyboard.press(step);
      // Until then: its border may fade in.
      await expect
        .poll(() => page.evaluate(unseenFocus), { message: 'has the focus and does not show it' })
        .toBeNull();
    }
    throw new Error(`${wanted} gets no focus`);
  };
  const own: Keyboard = {
    to: (wanted) => walk(wanted, 'Tab'),
    backTo: (wanted) => walk(wanted, 'Shift+Tab'),
    press: async (wanted) => {
      await own.to(wanted);
      await keyboard.press('Enter');
    },
    write: async (wanted, text) => {
      await own.to(wanted);
      await keyboard.press('ControlOrMeta+a');
      await keyboard.type(text);
    },
    type: (text) => keyboard.type(text),
    key: (name) => keyboard.press(name),
  };
  return own;
}

/** How something looks, with its label and its neighbours: where a control itself is hidden, those show the focus. */
const looksOf = `(one) => [one, one.parentElement, one.previousElementSibling, one.nextElementSibling, ...(one.labels ?? [])]
  .filter((part) => part instanceof Element)
  .flatMap((part) => [part, ...part.children].map((each) => {
    const style = getComputedStyle(each);
    return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor, style.top, style.transform].join();
  })).join(';')`;

const rememberLooks = `(() => {
  const looksOf = ${looksOf};
  globalThis.looksAtRest = new Map([...document.querySelectorAll('a, button, input, select, textarea, summary, [tabindex]')]
    .filter((one) => one !== document.activeElement).map((one) => [one, looksOf(one)]));
})()`;

const unseenFocus = `(() => {
  const looksOf = ${looksOf};
  const now = document.activeElement;
  if (now === null || now === document.body || !globalThis.looksAtRest.has(now)) return null;
  return globalThis.looksAtRest.get(now) === looksOf(now) ? now.outerHTML.slice(0, 300) : null;
})()`;
