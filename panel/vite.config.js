import { defineConfig } from 'vite';

/**
 * `early.ts` is what the page names, and imports the program. So that the browser does not wait for it before it fetches the program and its
 * styles, the page names these too, as what is wanted soon: styles in the head would keep the browser from showing anything until they are there.
 */
const programWantedSoon = {
  name: 'program-wanted-soon',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle }) => {
      if (!bundle) return [];
      const chunks = Object.values(bundle).filter(({ type }) => type === 'chunk');
      const program = chunks.find(({ moduleIds }) => moduleIds.some((id) => id.endsWith('/src/main.tsx')));
      const { importedCss } = program.viteMetadata;
      const scripts = [program.fileName, ...program.imports];
      return [
        ...[...importedCss].map((file) => ({ rel: 'preload', as: 'style', href: `/${file}` })),
        ...scripts.map((file) => ({ rel: 'modulepreload', href: `/${file}` })),
        // As Vite itself asks for them later: a request with other credentials would be a second one.
      ].map((attrs) => ({ tag: 'link', attrs: { ...attrs, crossorigin: true }, injectTo: 'head' }));
    },
  },
};

export default defineConfig({
  plugins: [programWantedSoon],
  // Every style that the pages load is a file of ours: nothing is put into the page (Content-Security-Policy).
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // The program as two files, whatever of it other pages share: as two dozen small ones each would cost a request before the first look.
          // As one it was evaluated in one piece, in which a slow telephone answers no touch for 200 ms.
          groups: [
            { name: 'early', test: /\/src\/early\.ts$|preload-helper/, priority: 3 },
            {
              name: 'libraries',
              test: /\/node_modules\/(react|react-dom|scheduler|@tanstack)\//,
              priority: 2,
            },
            { name: 'program', test: /\/src\/main\.tsx$/, priority: 1 },
          ],
        },
      },
    },
  },
});
