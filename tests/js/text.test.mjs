// Numbers and names as the page writes them: the table that tests/test_text.py holds fxscope/text.py to.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const source = read('../../fxscope/render/page/assets/text.js');
const page = new Function(`${source}\nreturn { microseconds, ofRoof, plural, shorten, words };`)();

for (const [kind, rows] of Object.entries(JSON.parse(read('../text_cases.json')))) {
  test(kind, () => {
    for (const row of rows) {
      const values = row.slice(0, -1);
      assert.equal(page[kind] ? page[kind](...values) : page.words(values[0], kind), row.at(-1));
    }
  });
}
