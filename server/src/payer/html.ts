import { cnpjText } from '../ground/cnpj.ts';
import type { Language } from '../ground/errors.ts';
import { priceOf } from '../ground/money.ts';
import { withoutDirection } from '../ground/printable.ts';
import type { LinkPage } from '../kinds/link/link-page.ts';
import type { AmountRange, LinkMethod, OfferedMethod } from '../kinds/link/methods.ts';
import { qrSvg } from '../provider/qr.ts';
import type { PublicPayment, PublicRefund, ShownSeller } from './pages.sql.ts';
import {
  cardStepOf,
  chargeStateOf,
  closedLinkOf,
  insteadOf,
  isAtRest,
  isOver,
  type ProofState,
  proofStateOf,
  refundProofStateOf,
  versionOf,
} from './state.ts';
import { words } from './words.ts';

/** The surroundings of a page. */
export interface PageFrame {
  language: Language;
  /** Of this page, without a query. */
  path: string;
  /** Of the installation, small at the bottom. */
  host: string;
  /** Named in the addresses of style and script, so that a browser keeps them until they change. */
  assets: string;
  now: number;
}

const signs: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for an element or an attribute in quotes. Marks that turn the direction of what follows are left out. */
export const escaped = (text: string): string =>
  withoutDirection(text).replace(/[&<>"']/g, (sign) => signs[sign] as string);

const formats: Readonly<Record<Language, Intl.DateTimeFormat>> = {
  'pt-BR': formatOf('pt-BR'),
  en: formatOf('en-GB'),
};

function formatOf(locale: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale, {
    timeZone: 'America/Sao_Paulo',
    day: '2-digit',
    month: '2-digit',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  });
}

export const momentOf = (at: number, language: Language): string =>
  `${formats[language].format(at).replace(',', '')} ${words[language].brasilia}`;

interface Content {
  title: string;
  /** Of a link's preview. */
  summary: string;
  seller: ShownSeller | null;
  /** Compared by the script with what the stream says; null: the page does not change. */
  version: string | null;
  /** Read out when the page changes to it. */
  say: string;
  main: string;
}

function documentOf({ language, path, host, assets }: PageFrame, content: Content): string {
  const say = words[language];
  const { seller, version } = content;
  const colour = seller?.colour ?? null;
  const style = `/pay/style.css?v=${assets}${colour === null ? '' : `&amp;colour=${colour.slice(1)}`}`;
  const other = language === 'en' ? 'pt-BR' : 'en';
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="format-detection" content="telephone=no">
<meta name="description" content="${escaped(content.summary)}">
<meta property="og:type" content="website">
<meta property="og:title" content="${escaped(content.title)}">
<meta property="og:description" content="${escaped(content.summary)}">
<title>${escaped(content.title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
<script src="/pay/page.js?v=${assets}" defer></script>
</head>
<body${version === null ? '' : ` data-version="${version}" data-events="${path}/events" data-state="${path}/state"`}>
<div class="sheet">
${seller === null ? '' : headOf(seller, path)}
<p id="live" class="unseen" role="status" aria-live="polite"></p>
<main id="main" data-say="${escaped(content.say)}"><!--main-->
${seller?.test ? `<p class="test">${say.test}</p>` : ''}${content.main}
<!--/main--></main>
</div>
<footer><a href="${path}?lang=${other}" lang="${other}" hreflang="${other}">${say.other}</a><span>${say.host} ${escaped(host)}</span></footer>
</body>
</html>
`;
}

function headOf({ name, cnpj, logoSides }: ShownSeller, path: string): string {
  const logo = logoSides === null ? '' : `<img src="${path}/logo.png" alt="" ${shownSides(logoSides)}>`;
  const number = cnpj === null ? '' : `<span>CNPJ ${escaped(cnpjText(cnpj))}</span>`;
  return `<header>${logo}<p><bdi>${escaped(name)}</bdi>${number}</p></header>`;
}

const logoMostHigh = 38;
/** Around a logo (`page.css`). */
const logoPadding = 3;

/** The place of a logo before it is there, so that nothing moves when it comes. Two numbers of the head of a PNG (its specification, 11.2.1). */
function shownSides(sides: Buffer): string {
  const [wide, high] = [sides.readUInt32BE(0), sides.readUInt32BE(4)];
  const shownHigh = Math.min(high, logoMostHigh);
  const shownWide = Math.round((wide * shownHigh) / high);
  return `width="${shownWide + 2 * logoPadding}" height="${shownHigh + 2 * logoPadding}"`;
}

const rowsOf = (rows: readonly (readonly [label: string, value: string | null])[]): string =>
  `<dl>${rows
    .filter(([, value]) => value !== null)
    .map(([label, value]) => `<div><dt>${label}</dt><dd><bdi>${escaped(value as string)}</bdi></dd></div>`)
    .join('')}</dl>`;

/** A sign that needs no colour: a check, an exclamation mark, a clock or a line. */
type Mark = 'good' | 'bad' | 'wait' | 'off';

const marks: Readonly<Record<Mark, string>> = {
  good: '<path d="M14 25l7 7 14-16"/>',
  bad: '<path d="M24 13v14M24 34v1"/>',
  wait: '<path d="M24 14v11l7 5"/>',
  off: '<path d="M15 24h18"/>',
};

const bannerOf = (mark: Mark, title: string, text: string): string =>
  `<div class="banner ${mark}"><svg viewBox="0 0 48 48" width="56" height="56" aria-hidden="true"><circle cx="24" cy="24" r="22"/>${marks[mark]}</svg><h1>${title}</h1><p>${text}</p></div>`;

/** The addresses that a charge's page leads to; paths of this host. */
export interface ChargeLinks {
  /** The acquirer's page of a payment by card. */
  card: string;
  /** The proof of what its receipt is worth today. */
  proof: string;
  /** The link that it was made by; null: none. */
  link: string | null;
  /** A new one for each page: a form that is sent twice makes one charge. */
  formKey: string;
}

/** A charge to its payer. */
export function chargePage(payment: PublicPayment, to: ChargeLinks, frame: PageFrame): string {
  const { language, path } = frame;
  const say = words[language];
  const state = chargeStateOf(payment);
  const price = priceOf(payment.status === 'paid' ? payment.receivedCents : payment.amountCents);
  const step = state === 'pending' ? cardStepOf(payment) : null;
  const ofCard = step === null ? (payment.byCard && say.cardStates[state]) || null : say.cardSteps[step];
  const [title, text] = ofCard ?? say.states[state];
  const waits = state === 'pending' && !(to.link !== null && isOver(payment, frame.now));
  const showsCode = waits && payment.copyPaste !== null;
  const takesCard = (step === 'open' || step === 'refused') && payment.cardUrl !== null;
  const settled = payment.status === 'paid';
  const facts = rowsOf([
    [say.amount, price],
    [say.back, payment.refundedCents > 0 ? priceOf(payment.refundedCents) : null],
    [say.when, settled ? momentOf(payment.paidAt ?? payment.settledAt ?? payment.updatedAt, language) : null],
    [say.endToEnd, settled ? payment.endToEnd : null],
  ]);
  const backTo = (url: string | null, look = '') =>
    url === null ? '' : `<a${look} href="${escaped(url)}" rel="noreferrer">${say.backToShop}</a>`;
  const toCard = takesCard ? `<a class="button" href="${to.card}" rel="noreferrer">${say.payByCard}</a>` : '';
  const receipt = payment.byCard
    ? ''
    : `<a class="button" href="${path}/receipt.pdf?lang=${language}">${say.receipt}</a><a href="${to.proof}">${say.verify}</a>`;
  const acts = settled
    ? backTo(payment.successUrl, ' class="button"') + receipt
    : toCard + backTo(payment.cancelUrl);
  const instead = to.link === null ? [] : insteadOf(payment, frame.now);
  const others =
    instead.length === 0
      ? ''
      : `<form method="post" action="${to.link}/charge?lang=${language}">${hiddenOf({ formKey: to.formKey, replaces: payment.id })}${buttonsOf(
          instead.map((method) => [method, insteadWord(payment, method, waits, say)]),
          waits,
        )}</form>`;
  return documentOf(frame, {
    title: `${price} · ${payment.name}`,
    summary: `${state === 'pending' && !payment.byCard ? say.pay : title}: ${price}, ${payment.name}`,
    seller: payment,
    version: versionOf(payment),
    say: showsCode ? '' : `${title}. ${text}`,
    main: showsCode
      ? codePart(payment, payment.copyPaste as string, frame) + others
      : bannerOf(step === 'refused' ? 'bad' : markOf(state), title, text) +
        (payment.description === ''
          ? ''
          : `<p class="about"><bdi>${escaped(payment.description)}</bdi></p>`) +
        facts +
        (acts === '' ? '' : `<p class="acts">${acts}</p>`) +
        others,
  });
}

type Word = (typeof words)[Language];

/** The other method while the first one waits; after it, the same again or the other. */
const insteadWord = ({ byCard }: PublicPayment, method: LinkMethod, waits: boolean, say: Word): string =>
  waits ? say.instead[method] : byCard === (method === 'card') ? say.again[method] : say.choose[method];

/** One press chooses the method and sends the form; the first is the one of the Enter key. */
const buttonsOf = (choices: readonly (readonly [LinkMethod, string])[], quiet = false): string =>
  choices
    .map(
      ([method, word], at) =>
        `<button class="button${quiet || at > 0 ? ' second' : ''}" name="method" value="${method}">${word}</button>`,
    )
    .join('');

const hiddenOf = (fields: Readonly<Record<string, string>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join('');

/** The fields of a form that was refused, and why. */
export interface Refused {
  message: string;
  amount: string;
  payerName: string;
  payerDocument: string;
}

/** A link to a payer who has no code yet. Nothing is made before the form is sent. */
export function linkPage(
  seller: ShownSeller,
  link: LinkPage,
  formKey: string,
  frame: PageFrame,
  refused: Refused | null = null,
): string {
  const { language } = frame;
  const say = words[language];
  const closed = closedLinkOf(link);
  const price = link.amountCents === null ? null : priceOf(link.amountCents);
  const about = link.description === '' ? '' : `<p class="about"><bdi>${escaped(link.description)}</bdi></p>`;
  return documentOf(frame, {
    title: `${link.title} · ${seller.name}`,
    summary: `${say.payBy(link.methods.map(({ method }) => method))}: ${price === null ? '' : `${price}, `}${link.title}, ${seller.name}`,
    seller,
    version: null,
    say: '',
    main:
      closed === null
        ? `<h1 class="about"><bdi>${escaped(link.title)}</bdi></h1>${about}${price === null ? '' : `<p class="amount">${price}</p>`}${formOf(link, formKey, frame, refused)}`
        : bannerOf('off', ...say.links[closed]) + about,
  });
}

function formOf(
  link: LinkPage,
  formKey: string,
  { language, path }: PageFrame,
  refused: Refused | null,
): string {
  const say = words[language];
  const { minimumCents, maximumCents, left, expiresAt } = link;
  const ways = link.methods.filter(({ range }) => range !== null);
  const amount =
    link.amountCents !== null || minimumCents === null || maximumCents === null
      ? ''
      : `<label for="amount">${say.amountField}</label><input id="amount" name="amount" inputmode="decimal" autocomplete="off" required maxlength="14" value="${escaped(refused?.amount ?? '')}" aria-describedby="bounds"><p id="bounds" class="hint">${say.amountHint(priceOf(minimumCents), priceOf(maximumCents))}</p>`;
  const rule = link.payerFields.name;
  const name =
    rule === 'none'
      ? ''
      : `<label for="name">${say.name}${rule === 'optional' ? ` (${say.optional})` : ''}</label><input id="name" name="payerName" autocomplete="name" maxlength="100"${rule === 'required' ? ' required' : ''} value="${escaped(refused?.payerName ?? '')}">`;
  const ofDocument = link.payerFields.document;
  const document =
    ofDocument === 'none'
      ? ''
      : `<label for="document">${say.document}${ofDocument === 'optional' ? ` (${say.optional})` : ''}</label><input id="document" name="payerDocument" autocomplete="off" spellcheck="false" maxlength="18"${ofDocument === 'required' ? ' required' : ''} value="${escaped(refused?.payerDocument ?? '')}" aria-describedby="why"><p id="why" class="hint">${ways.some(({ method }) => method === 'card') ? say.documentHintByCard : say.documentHint}</p>`;
  const notes = [
    left === null || left > 20 ? null : say.stock(left),
    expiresAt === null ? null : `${say.until} ${momentOf(expiresAt, language)}`,
  ].filter((note) => note !== null);
  return `${refused === null ? '' : `<p class="fault" role="alert">${escaped(refused.message)}</p>`}<form method="post" action="${path}/charge?lang=${language}">${hiddenOf({ formKey })}${amount}${name}${document}${buttonsOf(ways.map(({ method }) => [method, say.choose[method]]))}</form>${methodNotes(link, say)}${notes.map((note) => `<p class="until">${note}</p>`).join('')}`;
}

/** For a payer before the choice: the amounts that each method takes, that the amount is the same, and which one is not there now. */
function methodNotes({ methods, amountCents }: LinkPage, say: Word): string {
  const isThere = (one: OfferedMethod): one is OfferedMethod & { range: AmountRange } => one.range !== null;
  const there = methods.filter(isThere);
  const bounds =
    amountCents === null && there.length > 1
      ? there.map(({ method, range: { minimumCents, maximumCents } }) =>
          say.boundsOf[method](priceOf(minimumCents), priceOf(maximumCents)),
        )
      : [];
  const notes = [
    ...bounds,
    ...(there.some(({ method }) => method === 'card') ? [say.cardHint] : []),
    ...(there.length > 1 ? [say.sameAmount] : []),
    ...methods.filter((one) => !isThere(one)).map(({ method }) => say.notNow[method]),
  ];
  return notes.length === 0 ? '' : `<p class="hint">${notes.join('<br>')}</p>`;
}

function markOf(state: ReturnType<typeof chargeStateOf>): Mark {
  if (state === 'paid' || state === 'refundedPartly') return 'good';
  if (!isAtRest(state)) return 'wait';
  return state === 'expired' || state === 'cancelled' || state === 'refunded' ? 'off' : 'bad';
}

function codePart(payment: PublicPayment, code: string, { language, now }: PageFrame): string {
  const say = words[language];
  const { expiresAt, description, dueDate, validAfterDue } = payment;
  const until =
    dueDate !== null
      ? `<p class="until">${say.until} <time datetime="${dueDate}">${dueDate.split('-').reverse().join('/')}</time>. ${say.afterDue(validAfterDue ?? 0)}</p><p class="hint">${say.amountOfDay}</p>`
      : expiresAt === null
        ? ''
        : `<p class="until">${say.until} <time datetime="${new Date(expiresAt).toISOString()}">${momentOf(expiresAt, language)}</time><span id="left" data-label="${say.left}" data-ms="${Math.max(0, expiresAt - now)}"></span></p>`;
  return `<h1 class="amount"><span class="unseen">${say.pay}: </span>${priceOf(payment.amountCents)}</h1>
${description === '' ? '' : `<p class="about"><bdi>${escaped(description)}</bdi></p>`}
${until}
<div class="ways">
<div class="copy"><label for="code">${say.code}</label><textarea id="code" readonly rows="4" spellcheck="false">${escaped(code)}</textarea>
<button id="copy" type="button" class="button" data-done="${say.copied}" hidden>${say.copy}</button></div>
<figure>${qrSvg(code, say.qr)}<figcaption>${say.scan}</figcaption></figure>
</div>
<p class="waiting"><i aria-hidden="true"></i>${say.wait}</p>
<ol>${say.steps.map((step) => `<li>${step}</li>`).join('')}</ol>`;
}

const proofMarks: Readonly<Record<ProofState, Mark>> = {
  settled: 'good',
  refundedPartly: 'good',
  refunded: 'off',
  returned: 'off',
  contested: 'bad',
  takenBack: 'bad',
  none: 'bad',
};

interface Proof {
  seller: ShownSeller;
  what: string;
  state: ProofState;
  cents: number;
  backCents: number;
  at: number | null;
  endToEnd: string | null;
}

/** The worth of a receipt today. Nothing of a person: no payer, no receiver's key. */
function proofPage(proof: Proof, frame: PageFrame): string {
  const { language, now } = frame;
  const say = words[language];
  const [title, text] = say.proofs[proof.state];
  return documentOf(frame, {
    title: `${say.proof} · ${proof.seller.name}`,
    summary: say.proof,
    seller: proof.seller,
    version: null,
    say: '',
    main: `<p class="about">${say.proof}</p>${bannerOf(proofMarks[proof.state], title, text)}${rowsOf([
      [say.amount, priceOf(proof.cents)],
      ['Pix', proof.what],
      [say.back, proof.backCents > 0 ? priceOf(proof.backCents) : null],
      [say.when, proof.at === null ? null : momentOf(proof.at, language)],
      [say.endToEnd, proof.endToEnd],
      [say.proofDay, momentOf(now, language)],
    ])}<p class="hint">${say.proofHint}</p>`,
  });
}

export const receiptProofPage = (payment: PublicPayment, frame: PageFrame): string =>
  proofPage(
    {
      seller: payment,
      what: payment.kind === 'transfer' ? words[frame.language].sent : words[frame.language].received,
      state: proofStateOf(payment),
      cents:
        payment.kind === 'transfer'
          ? (payment.netAmountCents ?? payment.amountCents - (payment.feeCents ?? 0))
          : payment.receivedCents,
      backCents: payment.kind === 'transfer' ? payment.returnedCents : payment.refundedCents,
      at: payment.paidAt ?? payment.settledAt,
      endToEnd: payment.endToEnd,
    },
    frame,
  );

export const refundProofPage = (refund: PublicRefund, frame: PageFrame): string =>
  proofPage(
    {
      seller: refund,
      what: words[frame.language].refund,
      state: refundProofStateOf(refund),
      cents: refund.amountCents,
      backCents: 0,
      at: refund.settledAt,
      endToEnd: refund.rtrId,
    },
    frame,
  );

/** The page of the last line of a reminder: it asks, and a press ends the reminders of this merchant. */
export function remindersPage(seller: ShownSeller, what: 'ask' | 'done', frame: PageFrame): string {
  const say = words[frame.language];
  const [title, text] = say.reminders[what];
  const form =
    what === 'ask'
      ? `<form method="post" action="${frame.path}?lang=${frame.language}"><button type="submit">${say.reminders.press}</button></form>`
      : '';
  return documentOf(frame, {
    title,
    summary: title,
    seller,
    version: null,
    say: '',
    main: bannerOf(what === 'ask' ? 'off' : 'good', title, text) + form,
  });
}

/** A page that says that there is none. */
export function emptyPage(what: 'notFound' | 'tooMany' | 'broken', frame: PageFrame): string {
  const say = words[frame.language];
  return documentOf(frame, {
    title: say[what],
    summary: say[what],
    seller: null,
    version: null,
    say: '',
    main: bannerOf('off', say[what], say[`${what}Text`]),
  });
}
