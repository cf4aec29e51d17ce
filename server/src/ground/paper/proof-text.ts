import type { Language } from '../errors.ts';

/** Beside the QR code of a receipt. */
export const proofScans: Readonly<Record<Language, string>> = {
  'pt-BR': 'Confira este comprovante: aponte a câmera. A página mostra valor, data, id e a situação de hoje.',
  en: 'Verify this receipt: point a camera here. The page shows amount, date, id and the state of today.',
};
