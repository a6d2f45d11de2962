// Examples of nodes for indexes of vectors.
import type { NodeExamples } from './node-example.ts'

export const vectorExamples: NodeExamples = {
  'vector.Index': {
    data: {
      index: 'recipes',
      texts: ['apple pie', 'onion soup'],
      vectors: [
        [0.9, 0.1],
        [0.2, 0.8],
      ],
      ids: ['pie', 'soup'],
      metadata: [{ course: 'dessert' }, { course: 'starter' }],
    },
    outputs: { ids: ['pie', 'soup'], count: 2 },
  },
  'vector.Info': {
    data: { index: 'recipes' },
    outputs: { exists: true, count: 2, dimensions: 2 },
    note: 'The index is that of the example of vector.Index.',
  },
  'vector.List': {
    data: {},
    outputs: {
      indexes: [
        {
          name: 'recipes',
          dimensions: 2,
          count: 2,
          model: null,
          created_at: '2026-01-01T00:00:00.000Z',
          updated_at: '2026-01-01T00:00:00.000Z',
        },
      ],
    },
    note: 'The user has one index, that of the example of vector.Index.',
  },
  'vector.Remove': {
    data: { index: 'recipes', filter: { course: 'starter' } },
    outputs: { count: 1 },
    note: 'The index is that of the example of vector.Index.',
  },
  'vector.Search': {
    data: { index: 'recipes', vector: [1, 0], top_k: 1 },
    outputs: {
      matches: [{ id: 'pie', score: 0.993884, text: 'apple pie', metadata: { course: 'dessert' } }],
      texts: ['apple pie'],
    },
    note: 'The index is that of the example of vector.Index.',
  },
}
