// The search: its program, and an index that was made with the pages, read at the first key stroke.
const { base, search, copy, copied } = document.querySelector('script[data-base]').dataset;
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

// Code names this service where it serves the pages itself, and blocks of it are copied by a press.
if (base === '/docs/')
  for (const code of document.querySelectorAll('main code'))
    code.textContent = code.textContent.replaceAll('https://YOUR-HOST', location.origin);
for (const block of document.querySelectorAll('pre')) {
  const code = block.querySelector('code');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = copy;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = copied;
  });
  block.prepend(button);
}
