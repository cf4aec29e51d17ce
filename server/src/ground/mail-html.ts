import type { Letterhead } from './letterhead.ts';

/** A mail in one language: `Letter` of `mail.ts`. */
interface Part {
  language: string;
  subject: string;
  text: string;
}

/** The name under which the picture of a letterhead stands in a mail (RFC 2392). */
export const logoCid = 'logo@vintem';

const ours: Letterhead = { name: 'vintem', detail: null, colour: null, logo: null };
const deep = '#0f4f3e';

/** Largest size of a logo in pixels. */
const logoBox = { width: 120, height: 40 };

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/**
 * A mail as HTML: tables and styles of its own elements, because programs that read mail know little else; nothing is fetched. White
 * stands on the merchant's colour, which holds in light and dark alike, since a colour is only stored with a contrast of 4.5 to white.
 * The one style sheet is for dark mode, where it is understood.
 *
 * `parts`: the same mail in one language or in several.
 */
export function mailHtml(parts: readonly Part[], letterhead: Letterhead | null): string {
  const head = letterhead ?? ours;
  const [{ language, subject } = { language: 'en', subject: '' }] = parts;
  const colour = head.colour ?? deep;
  const bodies = parts.map(
    (part) =>
      `<div lang="${part.language}">${bodyOf(part.text, colour)}${footOf(part.language, letterhead)}</div>`,
  );
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<title>${escaped(subject)}</title>
<style>
:root { color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background: #101614 !important; }
  .card { background: #19211e !important; }
  .ink, .ink a { color: #e9efec !important; }
  .soft { color: #a9b8b1 !important; }
  .box { background: #232d29 !important; }
  .line { border-color: #36423d !important; }
}
</style></head>
<body class="page" style="margin:0;padding:0;background:#f4f6f3;">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f4f6f3;"><tr><td align="center" style="padding:16px 8px;">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px;background:#ffffff;">
<tr><td style="padding:18px 24px;background:${colour};">${headOf(head)}</td></tr>
<tr><td class="ink" style="padding:24px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,Arial,sans-serif;color:#16211d;">
${bodies.join('\n<hr class="line" style="border:0;border-top:1px solid #e2e6e0;margin:24px 0;">\n')}
</td></tr></table></td></tr></table></body></html>
`;
}

function headOf({ name, detail, logo }: Letterhead): string {
  const font = "-apple-system,'Segoe UI',Roboto,Arial,sans-serif";
  const small =
    detail === null ? '' : `<div style="font:13px/1.4 ${font};color:#ffffff;">${escaped(detail)}</div>`;
  const words = `<td style="vertical-align:middle;word-break:break-word;"><div style="font:bold 18px/1.3 ${font};color:#ffffff;">${escaped(name)}</div>${small}</td>`;
  // On white in dark mode too: most logos are made for white paper.
  const picture =
    logo === null
      ? ''
      : `<td style="padding-right:14px;vertical-align:middle;"><div style="background:#ffffff;padding:6px;line-height:0;"><img src="cid:${logoCid}" alt="" ${sizeOf(logo)} style="display:block;border:0;"></div></td>`;
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr>${picture}${words}</tr></table>`;
}

/** Fitted into the box by attributes, which every program understands. The size stands in the head of a PNG (its specification, 11.2.1). */
function sizeOf(logo: Buffer): string {
  const [width, height] = [logo.readUInt32BE(16), logo.readUInt32BE(20)];
  const scale = Math.min(1, logoBox.width / width, logoBox.height / height);
  const fitted = (pixels: number): number => Math.max(1, Math.round(pixels * scale));
  return `width="${fitted(width)}" height="${fitted(height)}"`;
}

const feet: Readonly<Record<string, (name: string) => string>> = {
  'pt-BR': (name) => `Enviado pelo vintem, o serviço de pagamentos de ${name}.`,
  en: (name) => `Sent by vintem, the payments service of ${name}.`,
};

function footOf(language: string, letterhead: Letterhead | null): string {
  const foot = letterhead === null ? undefined : feet[language]?.(letterhead.name);
  return foot === undefined
    ? ''
    : `<p class="soft" style="margin:24px 0 0;font-size:13px;color:#52605a;">${escaped(foot)}</p>`;
}

const paragraph = 'margin:0 0 16px;word-break:break-word;overflow-wrap:anywhere;';

/** The blocks of a text, as people see them: paragraphs, a table of `  Label   value`, a code, an address. */
function bodyOf(text: string, colour: string): string {
  const blocks = text.trimEnd().split(/\n\n+/);
  return blocks.map((block) => blockOf(block.split('\n'), colour)).join('\n');
}

/** `  Label   value`; null: another line. */
function rowOf(line: string): readonly [string, string] | null {
  const gap = line.indexOf('  ', 2);
  if (!line.startsWith('  ') || line[2] === ' ' || gap < 0) return null;
  return [line.slice(2, gap), line.slice(gap).trim()];
}

function blockOf(lines: readonly string[], colour: string): string {
  const rows = lines.map(rowOf).filter((row) => row !== null);
  if (rows.length === lines.length) return tableOf(rows);
  const [only = ''] = lines;
  if (lines.length === 1 && /^https?:\/\/\S+$/.test(only)) {
    return `<p class="box" style="${paragraph}padding:12px 14px;background:#eef2ee;border-left:4px solid ${colour};"><a href="${escaped(only)}" style="color:#16211d;word-break:break-all;">${escaped(only)}</a></p>`;
  }
  const [, act, address] = (lines.length === 1 && /^([^:]+): (https?:\/\/\S+)$/.exec(only)) || [];
  if (act !== undefined && act.length <= 40 && address !== undefined) {
    return `<p style="${paragraph}"><a href="${escaped(address)}" style="display:inline-block;padding:12px 20px;background:${colour};color:#ffffff;font-weight:bold;text-decoration:none;">${escaped(act)}</a></p>`;
  }
  const [, label, code] = (lines.length === 1 && /^(\S+): (\d{6})$/.exec(only)) || [];
  if (label !== undefined && code !== undefined) {
    return `<p style="${paragraph}">${escaped(label)}<br><span class="box" style="display:inline-block;margin-top:4px;padding:8px 16px;background:#eef2ee;font:bold 28px/1.3 Consolas,Menlo,monospace;letter-spacing:4px;">${code}</span></p>`;
  }
  return `<p style="${paragraph}">${lines.map((line) => escaped(line.trim())).join('<br>')}</p>`;
}

function tableOf(rows: readonly (readonly [string, string])[]): string {
  const cells = rows.map(
    ([label, value]) =>
      `<tr><td class="soft line" style="padding:7px 14px 7px 0;border-bottom:1px solid #e2e6e0;color:#52605a;font-size:14px;vertical-align:top;white-space:nowrap;">${escaped(label)}</td><td class="line" style="padding:7px 0;border-bottom:1px solid #e2e6e0;font-size:15px;word-break:break-word;overflow-wrap:anywhere;">${escaped(value)}</td></tr>`,
  );
  return `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 16px;border-collapse:collapse;">${cells.join('')}</table>`;
}
