// The example of agent.Run.
import type { NodeExamples } from './node-example.ts'

export const agentExamples: NodeExamples = {
  'agent.Run': {
    data: {
      model: 'openai/gpt-4o-mini',
      prompt: 'What do 3 books at 14.90 cost?',
      tools: ['math.Formula'],
      max_steps: 5,
    },
    outputs: { answer: 'They cost 44.70.' },
    note: 'The answer depends on the model, which calls math.Formula here.',
  },
}
