/** Pix keys as a person types them, and the form that is sent to the server. The server validates again. */
export const pixKeyTypes = ['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'RANDOM'] as const;

export type PixKeyType = (typeof pixKeyTypes)[number];

/** Without the points and lines that people write. A Brazilian number without country code gets it. */
export function cleanPixKey(type: PixKeyType, text: string): string {
  const trimmed = text.trim();
  if (type === 'CPF' || type === 'CNPJ') return trimmed.replace(/[.\-/\s]/g, '').toUpperCase();
  if (type === 'PHONE') {
    const digits = trimmed.replace(/[^\d+]/g, '');
    if (digits.startsWith('+')) return digits;
    return /^\d{10,11}$/.test(digits) ? `+55${digits}` : digits;
  }
  return trimmed.toLowerCase();
}

export function isPixKey(type: PixKeyType, key: string): boolean {
  switch (type) {
    case 'CPF':
      return /^\d{11}$/.test(key) && !/^(\d)\1+$/.test(key) && hasCheckDigits(key, [10, 11]);
    case 'CNPJ':
      return /^[0-9A-Z]{12}\d{2}$/.test(key) && !/^(.)\1+$/.test(key) && hasCnpjDigits(key);
    case 'EMAIL':
      return key.length <= 77 && /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(key);
    case 'PHONE':
      return /^\+[1-9]\d{6,14}$/.test(key);
    case 'RANDOM':
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key);
  }
}

/** The type that a key can only be, when there is just one. */
export function guessPixKeyType(text: string): PixKeyType | null {
  return (
    pixKeyTypes.find(
      // Eleven bare digits may be a CPF with a slip as well as a telephone.
      (type) => isPixKey(type, cleanPixKey(type, text)) && (type !== 'PHONE' || /^\s*[+(]/.test(text)),
    ) ?? null
  );
}

function hasCheckDigits(digits: string, weights: readonly number[]): boolean {
  return weights.every((weight, place) => {
    let sum = 0;
    for (let at = 0; at < weight - 1; at++) sum += Number(digits[at]) * (weight - at);
    return ((sum * 10) % 11) % 10 === Number(digits[9 + place]);
  });
}

/** With letters since July 2026; whether the service takes such a key is a setting, and its answer says so. A letter counts as its ASCII code less 48. */
function hasCnpjDigits(digits: string): boolean {
  const weights = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
  return [12, 13].every((place) => {
    let sum = 0;
    for (let at = 0; at < place; at++) sum += (digits.charCodeAt(at) - 48) * (weights[13 - place + at] ?? 0);
    const rest = sum % 11;
    return (rest < 2 ? 0 : 11 - rest) === Number(digits[place]);
  });
}
