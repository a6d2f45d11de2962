// The example of workflow.Call.
import type { NodeExamples } from './node-example.ts'

export const workflowExamples: NodeExamples = {
  'workflow.Call': {
    data: { workflow_id: 'greeting' },
    inputs: { name: 'Ada' },
    outputs: { greeting: 'Hello, Ada!' },
    note: 'The workflow is the bundled example `greeting`.',
  },
}
