// The example of output.Output. Its only output is the result of the run.
import type { NodeExamples } from './node-example.ts'

export const outputExamples: NodeExamples = {
  'output.Output': {
    data: { name: 'total', description: 'The price with tax.' },
    inputs: { value: 59.5 },
    outputs: { total: 59.5 },
  },
}
