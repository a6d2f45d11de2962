// The example of human.Approval.
import type { NodeExamples } from './node-example.ts'

export const humanExamples: NodeExamples = {
  'human.Approval': {
    data: { message: 'Pay this invoice?', value: { invoice: 42, total: 180 } },
    outputs: { approved: { invoice: 42, total: 180 } },
    note: 'A person approves.',
  },
}
