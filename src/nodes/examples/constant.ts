// Examples of nodes that give a value of their own.
import type { NodeExamples } from './node-example.ts'

export const constantExamples: NodeExamples = {
  'constant.Boolean': { data: { value: true }, outputs: { output: true } },
  'constant.Float': { data: { value: 0.19 }, outputs: { output: 0.19 } },
  'constant.Integer': { data: { value: 12 }, outputs: { output: 12 } },
  'constant.List': { data: { value: ['Mon', 'Wed', 'Fri'] }, outputs: { output: ['Mon', 'Wed', 'Fri'] } },
  'constant.Object': {
    data: { value: { host: 'mail.example.com', port: 587 } },
    outputs: { output: { host: 'mail.example.com', port: 587 } },
  },
  'constant.String': { data: { value: 'Thank you for your order.' }, outputs: { output: 'Thank you for your order.' } },
}
