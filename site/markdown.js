// The pages as Markdown, for programs that read: each at its own address with `.md`, and a list of all of them.

/** `[text](target)`, with the mark of an image in front. */
const link = /(!?)\[([^\][]*)\]\(([^()\s]*)\)/g;

/** A place that only links of an earlier site name. */
const anchor = /<span id="[^"]*"><\/span>/g;

/**
 * A page's source with links that lead from where the site has it.
 * @param {(href: string) => string | null} targetOf the address of a link; null where it leads to no page
 * @param {(src: string) => string} imageOf
 */
export function markdownOf(text, targetOf, imageOf) {
  const led = (prose) =>
    prose.replaceAll(anchor, '').replaceAll(link, (_, image, words, href) => {
      if (image) return `![${words}](${imageOf(href)})`;
      const target = targetOf(href);
      return target === null ? words : `[${words}](${target})`;
    });
  // Every second part stands between two fences.
  return text
    .split(/^( *```.*)$/m)
    .map((part, at) => (at % 4 === 0 ? led(part) : part))
    .join('');
}

/** The first sentence below the title that says something of the page; empty where it begins with no sentence. */
function firstSentence(text) {
  const [, ...lines] = text.slice(text.indexOf('\n# ') + 1).split('\n');
  const from = lines.findIndex((line) => line !== '');
  if (from < 0 || /^[^\p{L}`"[*]/u.test(lines[from])) return '';
  const end = lines.indexOf('', from);
  const paragraph = lines.slice(from, end < 0 ? undefined : end).join(' ');
  const sentences = paragraph
    .replaceAll(link, '$2')
    .replaceAll('**', '')
    .split(/(?<=[.!?:]) (?=[\p{Lu}`"])/u);
  const first = sentences.find((sentence) => sentence.split(' ').length > 4) ?? '';
  return /[.!?]$/.test(first) ? first : '';
}

/**
 * The list of all pages, in the order of the menu and in its form of llmstxt.org: a title, a quoted summary, words without headings, then
 * sections of links, each with a remark.
 * @param {{ name: string, pages: { title: string, address: string, text: string }[] }[]} sections
 * @param {string} document the address of the OpenAPI document
 */
export function llmsText(sections, document) {
  const lists = sections.map(({ name, pages }) => {
    const links = pages.map(({ title, address, text }) => {
      const remark = firstSentence(text);
      return `- [${title.replaceAll(/[[\]]/g, '')}](${address})${remark && `: ${remark}`}`;
    });
    return `## ${name}\n\n${links.join('\n')}\n`;
  });
  return `# vintem

> A self-hosted service for Pix payments in Brazil: charges, transfers, refunds, statements and signed webhooks over an HTTP API. Amounts are integers in cents, times are RFC 3339 in UTC.

Each page below is Markdown; without \`.md\` the same address is the page for people. Pages for merchants exist in English and in Brazilian Portuguese.
The pages name the address of the service that they come from. The whole API as one OpenAPI 3.1 document: ${document}

${lists.join('\n')}`;
}
