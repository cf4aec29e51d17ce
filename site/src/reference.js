const { document: url } = document.currentScript.dataset;

// Swagger UI has a dark form, for its own button; here the system decides.
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

const none = () => null;
SwaggerUIBundle({
  url,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: false,
  filter: true,
  supportedSubmitMethods: [],
  plugins: [() => ({ wrapComponents: { authorizeBtn: () => none, authorizeOperationBtn: () => none } })],
  validatorUrl: null,
});

// Swagger UI leaves this out for screen readers and keyboards.
const nameOf = (select) => {
  if (select.id === 'servers') return 'Server';
  if (select.closest('.examples-select')) return 'Example';
  return select.closest('[data-param-name]')?.dataset.paramName ?? 'Media type';
};
const parts = { 'information-container': 'About', 'scheme-container': 'Server', filter: 'Filter' };
function mend() {
  for (const [name, label] of Object.entries(parts))
    for (const part of document.querySelectorAll(`.${name}`)) {
      part.setAttribute('role', 'region');
      part.setAttribute('aria-label', label);
    }
  for (const table of document.querySelectorAll('.responses-table:not([aria-label])')) {
    const { path } = table.closest('.opblock').querySelector('[data-path]').dataset;
    table.setAttribute('aria-label', `Responses ${table.id.split('_')[0]} ${path}`);
  }
  // The page's title is of the first level, and Swagger UI's groups are of the third and fourth.
  for (const title of document.querySelectorAll('h3.opblock-tag, .models > h4'))
    title.setAttribute('aria-level', '2');
  for (const title of document.querySelectorAll('.opblock-body h4, .opblock-body h5'))
    title.setAttribute('aria-level', '3');
  // A link within the button that opens a call: the button sets the address too.
  for (const link of document.querySelectorAll('.opblock-summary-control a[href]'))
    link.removeAttribute('href');
  for (const select of document.querySelectorAll('select:not([aria-label])'))
    select.setAttribute('aria-label', nameOf(select));
  for (const code of document.querySelectorAll('pre.microlight:not([tabindex])')) code.tabIndex = 0;
}
new MutationObserver(mend).observe(document.getElementById('reference'), { childList: true, subtree: true });
