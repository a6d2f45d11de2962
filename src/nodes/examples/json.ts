// Examples of nodes that read and write JSON texts.
import type { NodeExamples } from './node-example.ts'

export const jsonExamples: NodeExamples = {
  'json.Parse': {
    data: { text: '{"city": "Oslo", "degrees": -4}' },
    outputs: { output: { city: 'Oslo', degrees: -4 } },
  },
  'json.Stringify': {
    data: { value: { city: 'Oslo', degrees: -4 } },
    outputs: { output: '{"city":"Oslo","degrees":-4}' },
  },
}
