// Examples of nodes that combine conditions.
import type { NodeExamples } from './node-example.ts'

export const logicExamples: NodeExamples = {
  'logic.Choose': { data: { condition: true, if_true: 'open', if_false: 'closed' }, outputs: { output: 'open' } },
  'logic.Combine': { data: { op: 'any' }, inputs: { is_member: false, has_voucher: true }, outputs: { output: true } },
  'logic.Not': { data: { condition: false }, outputs: { output: true } },
}
