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
