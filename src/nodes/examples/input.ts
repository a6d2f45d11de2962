// Examples of nodes that take params of a run.
import type { NodeExamples } from './node-example.ts'

export const inputExamples: NodeExamples = {
  'input.Any': { data: { name: 'setting', value: 'automatic' }, outputs: { output: 'automatic' } },
  'input.Boolean': {
    data: { name: 'urgent', value: false, description: 'Whether to send it today.' },
    outputs: { output: false },
  },
  'input.Float': { data: { name: 'tax_rate', value: 19.5, min: 0, max: 100 }, outputs: { output: 19.5 } },
  'input.Integer': { data: { name: 'guests', value: 4, min: 1, max: 12 }, outputs: { output: 4 } },
  'input.List': { data: { name: 'cities', value: ['Rome', 'Oslo'] }, outputs: { output: ['Rome', 'Oslo'] } },
  'input.Object': {
    data: { name: 'address', value: { street: 'Main Street 5', city: 'Oslo' } },
    outputs: { output: { street: 'Main Street 5', city: 'Oslo' } },
  },
  'input.String': {
    data: { name: 'language', value: 'en', description: 'The language of the letter.' },
    outputs: { output: 'en' },
  },
}
