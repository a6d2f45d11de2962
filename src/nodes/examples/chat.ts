// Examples of nodes that call models.
import type { NodeExamples } from './node-example.ts'

export const chatExamples: NodeExamples = {
  'chat.Classify': {
    data: {
      model: 'openai/gpt-4o-mini',
      text: 'My parcel has not arrived yet.',
      labels: ['delivery', 'payment', 'praise'],
    },
    outputs: { label: 'delivery' },
    note: 'The answer depends on the model.',
  },
  'chat.Complete': {
    data: { model: 'builtin/echo', prompt: 'Good morning, Ada!' },
    outputs: { text: ['Good', ' morning,', ' Ada!'] },
  },
  'chat.Embed': {
    data: { model: 'openai/text-embedding-3-small', texts: ['tea', 'coffee'], dimensions: 3 },
    outputs: {
      vectors: [
        [0.81, 0.12, 0.57],
        [0.78, 0.2, 0.59],
      ],
      vector: [0.81, 0.12, 0.57],
    },
    note: 'The vectors depend on the model.',
  },
  'chat.Extract': {
    data: {
      model: 'openai/gpt-4o-mini',
      text: 'Please book a table for 4 under the name Lovelace.',
      fields: { name: 'str', guests: 'int', phone: 'str' },
    },
    outputs: { value: { name: 'Lovelace', guests: 4, phone: null }, guests: 4 },
    note: 'The answer depends on the model.',
  },
  'chat.Structured': {
    data: {
      model: 'openai/gpt-4o-mini',
      prompt: 'Name the capital of Norway and its river.',
      schema: {
        type: 'object',
        properties: { capital: { type: 'string' }, river: { type: 'string' } },
        required: ['capital'],
      },
    },
    outputs: { value: { capital: 'Oslo', river: 'Akerselva' } },
    note: 'The answer depends on the model.',
  },
  'chat.Summarize': {
    data: {
      model: 'openai/gpt-4o-mini',
      text: 'The harbour was busy all night. Three ships came in early, two more waited outside until the fog was gone.',
      instructions: 'One short sentence.',
    },
    outputs: { text: ['Fog ', 'kept ', 'two ', 'of ', 'five ', 'ships ', 'out ', 'of ', 'the ', 'busy ', 'harbour.'] },
    note: 'The answer depends on the model.',
  },
}
