// Examples of nodes for texts.
import type { NodeExamples } from './node-example.ts'

export const textExamples: NodeExamples = {
  'text.Case': {
    data: { text: 'Opening hours on Sunday', to: 'snake' },
    outputs: { output: 'opening_hours_on_sunday' },
  },
  'text.Concat': { data: { a: 'invoice-2026-03', b: '.pdf' }, outputs: { output: 'invoice-2026-03.pdf' } },
  'text.Contains': {
    data: { text: 'Refund for order 1042', part: 'refund', ignore_case: true },
    outputs: { output: true, index: 0 },
  },
  'text.Decode': { data: { text: 'Y2Fmw6kgYXQgbm9vbg==' }, outputs: { output: 'café at noon' } },
  'text.Diff': {
    data: { a: 'milk\neggs\nbread\n', b: 'milk\noats\nbread\n' },
    outputs: {
      output: '--- a\n+++ b\n@@ -1,3 +1,3 @@\n milk\n-eggs\n+oats\n bread\n',
      added: 1,
      removed: 1,
      changed: true,
    },
  },
  'text.Encode': { data: { text: 'tea & biscuits?', as: 'url' }, outputs: { output: 'tea%20%26%20biscuits%3F' } },
  'text.FormatCsv': {
    data: {
      rows: [
        { city: 'Oslo', note: 'cold, dry' },
        { city: 'Lima', note: 'mild' },
      ],
    },
    outputs: { output: 'city,note\nOslo,"cold, dry"\nLima,mild\n' },
  },
  'text.FromValue': {
    data: { value: { table: 4, guests: ['Ada', 'Grace'] } },
    outputs: { output: '{"table":4,"guests":["Ada","Grace"]}' },
  },
  'text.HtmlToMarkdown': {
    data: { html: '<h2>Pie</h2><p>Use <b>ripe</b> apples:</p><ul><li>Gala</li><li>Elstar</li></ul>' },
    outputs: { output: '## Pie\n\nUse **ripe** apples:\n\n- Gala\n- Elstar' },
  },
  'text.Join': { data: { list: ['Rome', 'Oslo', 'Lima'], separator: ', ' }, outputs: { output: 'Rome, Oslo, Lima' } },
  'text.Length': {
    data: { text: 'A boat came in\nunder a red sail' },
    outputs: { output: 31, words: 8, lines: 2 },
  },
  'text.Lines': {
    data: { text: 'flour\n\nsugar\nbutter\n', drop_empty: true },
    outputs: { output: ['flour', 'sugar', 'butter'] },
  },
  'text.Pad': { data: { text: '42', length: 6, side: 'start', fill: '0' }, outputs: { output: '000042' } },
  'text.ParseCsv': {
    data: { text: 'city,people\nOslo,717710\nBergen,291940', convert: true },
    outputs: {
      rows: [
        { city: 'Oslo', people: 717710 },
        { city: 'Bergen', people: 291940 },
      ],
      columns: ['city', 'people'],
    },
  },
  'text.ParseHtml': {
    data: {
      html: '<title>Menu</title><ul><li class="dish">Soup</li><li class="dish">Pie</li></ul><a href="/book">Book</a>',
      selector: 'li.dish',
    },
    outputs: {
      title: 'Menu',
      text: 'Soup\nPie\n\nBook',
      links: [{ url: '/book', text: 'Book' }],
      matches: [
        { tag: 'li', text: 'Soup', attributes: { class: 'dish' } },
        { tag: 'li', text: 'Pie', attributes: { class: 'dish' } },
      ],
    },
  },
  'text.ParseMarkdown': {
    data: { text: '# Setup\n\nRead the [guide](https://example.com/guide) first.\n\n```sh\nmake all\n```' },
    outputs: {
      headings: [{ level: 1, text: 'Setup' }],
      links: [{ url: 'https://example.com/guide', text: 'guide', title: '' }],
      code: [{ language: 'sh', text: 'make all\n' }],
      text: 'Setup\n\nRead the guide first.\n\nmake all',
    },
  },
  'text.RenderHtml': {
    data: { template: '<p>{{name}} wrote: {{comment}}</p>' },
    inputs: { name: 'Ada', comment: 'x < y & y > z' },
    outputs: { output: '<p>Ada wrote: x &lt; y &amp; y &gt; z</p>' },
  },
  'text.RenderMarkdown': {
    data: { text: 'Bring **two** towels and [tickets](https://example.com/tickets).' },
    outputs: {
      output: '<p>Bring <strong>two</strong> towels and <a href="https://example.com/tickets">tickets</a>.</p>\n',
    },
  },
  'text.Repeat': { data: { text: 'ha', times: 3, separator: '-' }, outputs: { output: 'ha-ha-ha' } },
  'text.Replace': {
    data: { text: 'colour and colouring', find: 'colour', replacement: 'color' },
    outputs: { output: 'color and coloring', count: 2 },
  },
  'text.Similarity': { data: { a: 'Meyer', b: 'Mayer' }, outputs: { score: 0.8, distance: 1 } },
  'text.Slice': { data: { text: 'DE-10115-Berlin', start: 3, end: 8 }, outputs: { output: '10115' } },
  'text.Slug': { data: { text: 'Crème brûlée: 5 easy steps!' }, outputs: { output: 'creme-brulee-5-easy-steps' } },
  'text.Split': {
    data: { text: 'red, green, , blue', trim: true, drop_empty: true },
    outputs: { output: ['red', 'green', 'blue'] },
  },
  'text.Template': {
    data: { template: 'Dear {{guest.name}}, table {{table}} is yours.' },
    inputs: { guest: { name: 'Ada' }, table: 4 },
    outputs: { output: 'Dear Ada, table 4 is yours.' },
  },
  'text.Trim': { data: { text: '  Main   Street 5 ', collapse: true }, outputs: { output: 'Main Street 5' } },
  'text.WordFrequency': {
    data: { text: 'The cat saw the dog, and the dog ran.', most: 2 },
    outputs: {
      output: [
        { word: 'the', count: 3 },
        { word: 'dog', count: 2 },
      ],
      different: 6,
      total: 9,
    },
  },
  'text.Words': {
    data: { text: 'Wait – is it half past nine?', lower: true },
    outputs: { output: ['wait', 'is', 'it', 'half', 'past', 'nine'] },
  },
}
