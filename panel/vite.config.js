import { defineConfig } from 'vite';

export default defineConfig({
  // Every style that the pages load is a file of ours: nothing is put into the page (Content-Security-Policy).
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
