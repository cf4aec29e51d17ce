import { expect, test } from 'vitest';
import { pixKeyText as shownInPanel } from '../../../panel/src/format.ts';
import { cleanPixKey, guessPixKeyType, isPixKey } from '../../../panel/src/pix-key.ts';
import { pixKeyText } from '../../src/panel/views/receivers.ts';

/** Pix keys as people type them in the panel. */

test('A CNPJ is taken in the panel with letters in either case and with or without its signs', () => {
  for (const text of ['12.ABC.345/01DE-35', '12abc34501de35', ' 12ABC34501DE35 ']) {
    expect(cleanPixKey('CNPJ', text)).toBe('12ABC34501DE35');
    expect(guessPixKeyType(text)).toBe('CNPJ');
  }
  expect(isPixKey('CNPJ', '11222333000181')).toBe(true);
  for (const wrong of ['12ABC34501DE36', '12ABC34501DEAB', '12ABC34501DE3', '00000000000000'])
    expect(isPixKey('CNPJ', wrong)).toBe(false);
});

test('A CNPJ with letters is shown in groups, in the panel as in mails and papers', () => {
  for (const show of [pixKeyText, shownInPanel]) {
    expect(show('CNPJ', '12ABC34501DE35')).toBe('12.ABC.345/01DE-35');
    expect(show('CNPJ', '11222333000181')).toBe('11.222.333/0001-81');
  }
});
