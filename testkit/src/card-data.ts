/** Card data in what a process wrote or stored: what looks like a card's number, and what looks like a token of a card. */

/**
 * A run of 13 to 19 digits, alone or in groups, that no letter or digit touches, and that is no fraction of a number. Bounded: linear steps.
 * Numbers of cards begin with 2 to 6 (ISO/IEC 7812), so that milliseconds since 1970 are none.
 */
const number = /(?<![0-9A-Za-z]|\d[.])[2-6](?:(?:[ _-]?\d){12,18}|\d{3}(?:[.]\d{4}){3})(?![0-9A-Za-z])/g;
/** As Asaas names the member, and as Stripe begins ids of cards, tokens, sources and methods. */
const token =
  /card_?token"?\s*[:=]\s*"?(?!null)[^\s",}]|(?<![0-9A-Za-z])(?:tok|pm|src|card)_[0-9A-Za-z]{14}/i;
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The check digit of ISO/IEC 7812. */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]) * (at % 2 === 0 ? 1 : 2);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}

/** Each part of a text that looks like card data. */
export function cardDataIn(text: string): string[] {
  // An id of ours is random hexadecimal digits in groups.
  const without = text.replace(uuid, 'id');
  const numbers = (without.match(number) ?? []).filter((one) => passesLuhn(one.replace(/\D/g, '')));
  return [...numbers, ...(token.exec(without)?.slice(0, 1) ?? [])];
}
