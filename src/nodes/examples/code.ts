// The example of code.JavaScript.
import type { NodeExamples } from './node-example.ts'

export const codeExamples: NodeExamples = {
  'code.JavaScript': {
    data: { code: 'const due = items.filter(({ paid }) => !paid)\nreturn { due, count: due.length }' },
    inputs: {
      items: [
        { order: 1042, paid: true },
        { order: 1043, paid: false },
      ],
    },
    outputs: { due: [{ order: 1043, paid: false }], count: 1 },
  },
}
