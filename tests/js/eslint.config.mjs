// The page is one script made of several files, so what a file declares at its top is known in all of them.
import { readdirSync, readFileSync } from 'node:fs';
import js from '@eslint/js';
import globals from 'globals';

const assets = new URL('../../fxscope/render/page/assets/', import.meta.url);
const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'));
const declared = (name) =>
  [
    ...readFileSync(new URL(name, assets), 'utf8').matchAll(/^(?:async )?(?:const|let|class|function)\*? ([\w$]+)/gm),
  ].map((match) => match[1]);
const page = Object.fromEntries(scripts.flatMap(declared).map((name) => [name, 'writable']));

const rules = {
  ...js.configs.recommended.rules,
  'no-unused-vars': ['error', { vars: 'local', args: 'after-used' }],
  'no-redeclare': ['error', { builtinGlobals: false }],
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'no-var': 'error',
  'max-len': ['error', { code: 120, ignoreUrls: true }],
};

export default [
  {
    files: ['**/assets/*.js'],
    languageOptions: { sourceType: 'script', globals: { ...globals.browser, ...globals.worker, ...page } },
    rules,
  },
  { files: ['**/*.mjs'], languageOptions: { globals: globals.node }, rules },
];
