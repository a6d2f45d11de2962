// Examples of nodes that compare values.
import type { NodeExamples } from './node-example.ts'

export const compareExamples: NodeExamples = {
  'compare.Between': { data: { value: 21.5, low: 18, high: 24 }, outputs: { output: true } },
  'compare.Compare': { data: { a: 250, op: '>=', b: 100 }, outputs: { output: true } },
  'compare.Equal': {
    data: { a: { city: 'Oslo', zip: '0150' }, b: { zip: '0150', city: 'Oslo' } },
    outputs: { output: true },
  },
  'compare.IsEmpty': { data: { value: [] }, outputs: { output: true } },
  'compare.Type': { data: { value: { name: 'Ada' } }, outputs: { output: 'dict' } },
}
