import { defineConfig } from 'vite';

/**
 * Styles in the head would keep the browser from showing the sign of the page until they are there. Behind it they delay the program alone, and
 * before the program its own styles, which it puts into its place, come after them.
 */
const stylesBehindTheSign = {
  name: 'styles-behind-the-sign',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => {
      const styles = html.match(/ *<link rel="stylesheet"[^>]*>\n/g) ?? [];
      const rest = styles.reduce((left, one) => left.replace(one, ''), html);
      return rest.replace('    <div id="panel">', `${styles.join('')}    <div id="panel">`);
    },
  },
};

export default defineConfig({
  plugins: [stylesBehindTheSign],
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
            {
              name: 'libraries',
              test: /\/node_modules\/(react|react-dom|scheduler|@tanstack)\/|preload-helper/,
              priority: 2,
            },
            { name: 'program', test: /\/src\/main\.tsx$/, priority: 1 },
          ],
        },
      },
    },
  },
});
