// The search: its program, and an index that was made with the pages, read at the first key stroke.
const { base, search, copied, service } = document.querySelector('script[data-base]').dataset;
const input = document.getElementById('search');
const found = document.getElementById('found');
const language = document.documentElement.lang;
let loading;

const load = () => {
  loading ??= Promise.all([import(search), fetch(`${base}search.json`).then((answer) => answer.text())]).then(
    ([{ default: MiniSearch }, text]) =>
      MiniSearch.loadJSON(text, {
        fields: ['title', 'page', 'text'],
        storeFields: ['page', 'title', 'language', 'translated'],
      }),
  );
  return loading;
};

async function show() {
  const words = input.value.trim();
  if (words.length < 2) return found.replaceChildren();
  const index = await load();
  if (words !== input.value.trim()) return;
  const hits = index.search(words, {
    prefix: true,
    fuzzy: 0.15,
    combineWith: 'AND',
    boost: { title: 4, page: 2 },
  });
  // The reader's language first; another one only for pages that have no translation.
  const own = hits.filter((hit) => hit.language === language);
  const others = hits.filter((hit) => hit.language !== language && !hit.translated);
  found.replaceChildren(
    ...[...own, ...others].slice(0, 10).map(({ id, title, page, language: of }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = base + id;
      link.lang = of;
      link.textContent = title === page ? title : `${title} · ${page}`;
      item.append(link);
      return item;
    }),
  );
}

input.addEventListener('input', show);
input.form.addEventListener('submit', (event) => {
  event.preventDefault();
  found.querySelector('a')?.click();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') found.replaceChildren();
  if (event.key !== '/' || /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '')) return;
  event.preventDefault();
  input.focus();
});

// The language that a reader chose once is shown in every group of tabs that has it, on every page.
const chosen = 'language of code';
const tabs = [...document.querySelectorAll('.tabs > input')];
function choose(language) {
  for (const tab of tabs) if (tab.value === language) tab.checked = true;
}
for (const tab of tabs)
  tab.addEventListener('change', () => {
    localStorage.setItem(chosen, tab.value);
    const { top } = tab.parentElement.getBoundingClientRect();
    choose(tab.value);
    // Groups above may have changed their height: what is read stays where it is.
    scrollBy(0, tab.parentElement.getBoundingClientRect().top - top);
  });
choose(localStorage.getItem(chosen));

// Code names this service where it serves the pages itself, and has the reader's test key, which is kept in the tab alone.
const place = 'test key';
const field = document.getElementById('key');
const says = document.getElementById('key-says');
const asked = says?.textContent;
const written = new Map(
  base === '/docs/'
    ? [...document.querySelectorAll('main code')].map((code) => [code, code.textContent])
    : [],
);

/** A variable by its value, in each language of the blocks. */
const filled = (text, name, value) =>
  text
    .replaceAll(`$${name}`, value)
    .replaceAll(`process.env.${name}`, `'${value}'`)
    .replaceAll(`os.environ["${name}"]`, `"${value}"`)
    .replaceAll(`getenv('${name}')`, `'${value}'`);

function fill(key) {
  for (const [code, text] of written) {
    const inBlock = code.parentElement.tagName === 'PRE';
    const ours = inBlock ? filled(text, 'VINTEM_URL', service) : text;
    code.textContent = inBlock && key ? filled(ours, 'VINTEM_KEY', key).replaceAll('vtm_test_…', key) : ours;
  }
}

/** The form of a key, as the service makes them. Another one, a live key above all, is neither kept nor shown. */
function take() {
  const key = field.value.trim();
  const whole = /^vtm_test_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/.test(key);
  if (whole) sessionStorage.setItem(place, key);
  else sessionStorage.removeItem(place);
  if (!whole) field.value = '';
  says.textContent = whole ? says.dataset.filled : key === '' ? asked : says.dataset.wrong;
  fill(whole && key);
}
const kept = sessionStorage.getItem(place);
if (field && kept) {
  field.value = kept;
  says.textContent = says.dataset.filled;
}
field?.addEventListener('change', take);
field?.addEventListener('paste', () => setTimeout(take));
fill(kept);

// A press copies the block.
for (const button of document.querySelectorAll('.copy'))
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.nextElementSibling.textContent);
    button.textContent = copied;
  });
