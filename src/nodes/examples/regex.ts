// Examples of nodes that search texts for a pattern.
import type { NodeExamples } from './node-example.ts'

export const regexExamples: NodeExamples = {
  'regex.FindAll': {
    data: { text: 'Call 555-0101 or 555-0199.', pattern: '\\d{3}-(\\d{4})' },
    outputs: {
      output: [
        { text: '555-0101', index: 5, groups: ['0101'], named: {} },
        { text: '555-0199', index: 17, groups: ['0199'], named: {} },
      ],
      count: 2,
    },
  },
  'regex.Match': {
    data: { text: 'Invoice no. 2026-0042', pattern: '(?P<year>\\d{4})-(?P<number>\\d+)' },
    outputs: { output: true, match: '2026-0042', groups: ['2026', '0042'], named: { year: '2026', number: '0042' } },
  },
  'regex.Replace': {
    data: { text: '31.12.2026', pattern: '(\\d+)\\.(\\d+)\\.(\\d+)', replacement: '$3-$2-$1' },
    outputs: { output: '2026-12-31' },
  },
  'regex.Split': {
    data: { text: 'one, two;three  four', pattern: '[,;\\s]+' },
    outputs: { output: ['one', 'two', 'three', 'four'] },
  },
}
