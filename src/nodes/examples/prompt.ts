// The example of prompt.Template.
import type { NodeExamples } from './node-example.ts'

export const promptExamples: NodeExamples = {
  'prompt.Template': {
    data: { system: 'You are a guide in {{city}}.', template: 'Recommend:{{#places}} {{.}};{{/places}}' },
    inputs: { city: 'Oslo', places: ['a museum', 'a walk'] },
    outputs: {
      messages: [
        { role: 'system', content: 'You are a guide in Oslo.' },
        { role: 'user', content: 'Recommend: a museum; a walk;' },
      ],
      prompt: 'Recommend: a museum; a walk;',
      system: 'You are a guide in Oslo.',
    },
  },
}
