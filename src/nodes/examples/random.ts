// Examples of nodes that draw random values. The same seed always gives the same result.
import type { NodeExamples } from './node-example.ts'

export const randomExamples: NodeExamples = {
  'random.Choice': { data: { list: ['soup', 'salad', 'pie'], seed: 7 }, outputs: { output: 'pie', index: 2 } },
  'random.Float': { data: { min: 0, max: 10, seed: 7 }, outputs: { output: 3.3748776533776024 } },
  'random.Integer': { data: { min: 1, max: 6, seed: 7 }, outputs: { output: 6 } },
  'random.Normal': { data: { mean: 170, deviation: 8, seed: 7 }, outputs: { output: 167.65175466915366 } },
  'random.Numbers': {
    data: { count: 5, min: 1, max: 6, whole: true, seed: 3 },
    outputs: { item: [6, 4, 2, 6, 2], index: [0, 1, 2, 3, 4] },
  },
  'random.Sample': {
    data: { list: ['Ada', 'Ben', 'Cem', 'Dua', 'Eve'], count: 2, seed: 7 },
    outputs: { output: ['Ben', 'Cem'] },
  },
  'random.Shuffle': {
    data: { list: ['ace', 'king', 'queen', 'jack'], seed: 7 },
    outputs: { output: ['queen', 'ace', 'jack', 'king'] },
  },
  'random.Text': {
    data: { length: 8, characters: 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789', seed: 7 },
    outputs: { output: 'FSJ2C6SY' },
  },
  'random.Uuid': { data: { seed: 7 }, outputs: { output: '56659925-1768-4b70-a5ea-d6e891946118' } },
}
